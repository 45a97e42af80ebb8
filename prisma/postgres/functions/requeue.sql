-- Puts finished jobs back: attempts are reset, the run number continues, so that an old run stays stale.
-- Returns how many and which, and why the others were skipped. The failed children of a requeued job go back with it, and so
-- does a parent that failed because of its children. A completed child keeps its result for a live parent. What still waits
-- in its batch or flow waits for it again.
create function oncue.requeue(p_now timestamptz, p_ids uuid[], p_as_of timestamptz, p_by text)
  returns table (reason text, count integer, done uuid[])
  language plpgsql
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_ids uuid[];
  v_done uuid[];
  v_live uuid[];
begin
  select array_agg(f.id) into v_ids from (
    select h.id from oncue.history h
    where h.id = any (p_ids) and (p_as_of is null or h.finished_at <= p_as_of)
      -- A job that was enqueued again after it had finished is live.
      and not exists (select from oncue.jobs j where j.id = any (array[h.id]))
      and not (h.status::text = 'completed' and oncue.has_live_parent(h.id))
    -- A row that a poll has share-locked is not skipped: the delete below waits for it.
    for no key update skip locked
  ) f;

  with wanted as (
    select h.id, case when h.unique_scope = 'all' then '' else h.topic end as topic, 'u:' || h.unique_key as key
    from oncue.history h where h.id = any (v_ids) and h.unique_key is not null
  ), taken as (
    insert into oncue.keys as k (topic, key, job_id, until)
    -- Of several jobs with one key, the one that holds it, or else the first.
    select distinct on (w.key, w.topic) w.topic, w.key, w.id, null::timestamptz from wanted w
    order by w.key, w.topic, exists (
      select from oncue.keys h where h.topic = w.topic and h.key = w.key and h.job_id = w.id and h.until > v_now) desc, w.id
    on conflict (topic, key) do update set job_id = excluded.job_id, until = null
      where k.job_id = excluded.job_id or k.until <= v_now
    returning k.job_id
  )
  select array_agg(w.id) into v_live from wanted w where w.id not in (select t.job_id from taken t);

  with back as (
    delete from oncue.history h where h.id = any (v_ids) and h.id <> all (coalesce(v_live, '{}')) returning h.*
  ), results as (
    delete from oncue.payloads p where p.part = 'result' and p.job_id = any (array(select b.id from back b))
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', v_now), b.queue, b.topic, -sum((b.status = 'completed')::integer),
      -sum((b.status = 'failed')::integer), -sum((b.status = 'cancelled')::integer), '', '', 0
    from back b group by b.queue, b.topic
  ), moved as (
    insert into oncue.jobs
      ({{requeue_columns}}, updated, status, run_at, visible_at)
    select {{requeue_values}}, v_now, 'pending', v_now, v_now
    from back b
  )
  select array_agg(b.id) into v_done from back b;
  if v_done is not null then
    perform pg_notify('oncue', q.queue) from (select distinct j.queue from oncue.jobs j where j.id = any (v_done)) q;
    perform oncue.append_event(v_now, v_done, 'requeued',
      (select array_agg(json_build_object('by', p_by)) from unnest(v_done)));
    perform oncue.forget_undecided(v_now, v_done);
    perform oncue.await_requeued(v_done);
    perform oncue.requeue_family(v_now, v_done, p_by);
  end if;
  return query select 'done', coalesce(cardinality(v_done), 0), v_done;
  return query select 'UNIQUE_KEY_LIVE', cardinality(v_live), null::uuid[] where v_live is not null;
  return query
  select s.reason, count(*)::integer, null::uuid[] from (
    select case
      when exists (select from oncue.jobs j where j.id = any (array[i.id])) then 'INVALID_STATE'
      when exists (
          select from oncue.history h where h.id = any (array[i.id]) and h.status::text = 'completed')
        and oncue.has_live_parent(i.id) then 'PARENT_LIVE'
      when exists (select from oncue.history h where h.id = any (array[i.id])) then 'CHANGED'
      else 'JOB_NOT_FOUND' end as reason
    from unnest(p_ids) as i(id)
    where i.id <> all (coalesce(v_done, '{}') || coalesce(v_live, '{}'))
  ) s group by s.reason;
end $$;
