-- Makes pending jobs that are due later due at once. Only their time changes: retries, keys and limits stay,
-- so a job whose concurrency key is full is throttled by the claim. Skips locked jobs: they are being claimed or changed
-- at this moment, and the caller retries them (reason BUSY). Returns the ids of jobs that were made due or are busy.
create function oncue.run_now(p_now timestamptz, p_ids uuid[], p_as_of timestamptz, p_by text)
  returns table (reason text, count integer, ids uuid[])
  language plpgsql
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_done uuid[];
begin
  select coalesce(array_agg(l.id), '{}') into v_done from (
    select j.id from oncue.jobs j
    where j.id = any (p_ids) and j.status = 'pending' and j.run_at > v_now and j.visible_at is not null
      and j.waits is null
      and (p_as_of is null or j.created <= p_as_of)
    for update skip locked
  ) l;
  -- Visible from now on, never earlier, so that claims that start at a low-water mark find them.
  update oncue.jobs j set run_at = v_now, visible_at = v_now, updated = v_now where j.id = any (v_done);
  if v_done <> '{}' then
    perform pg_notify('oncue', q.queue) from (select distinct j.queue from oncue.jobs j where j.id = any (v_done)) q;
    perform oncue.append_event(v_now, v_done, 'run_now',
      (select array_agg(json_build_object('by', p_by)) from unnest(v_done)));
  end if;
  return query select 'done', cardinality(v_done), v_done;
  return query
  select s.reason, count(*)::integer, array_agg(s.id) from (
    select i.id, coalesce((
      select case
        when j.status = 'processing' then 'RUNNING'
        when j.waits is not null and (j.status = 'blocked' or j.run_at > v_now) then 'SUSPENDED'
        when j.status = 'blocked' then 'BLOCKED'
        when j.visible_at is null then 'THROTTLED'
        when j.run_at <= v_now then 'ALREADY_DUE'
        when j.created > p_as_of then 'CHANGED'
        else 'BUSY' end
      from oncue.jobs j where j.id = any (array[i.id])
    ), (select 'FINISHED' from oncue.history h where h.id = any (array[i.id])), 'JOB_NOT_FOUND') as reason
    from unnest(p_ids) as i(id) where i.id <> all (v_done)
  ) s group by s.reason;
end $$;
