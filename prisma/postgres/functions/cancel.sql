-- Cancels waiting jobs, and asks running ones to stop. One that is being undone stays as it is (reason UNDOING). Skips locked ones: they are being claimed or settled at this
-- moment, and the caller retries them (reason BUSY).
create function oncue.cancel(p_now timestamptz, p_ids uuid[], p_as_of timestamptz, p_by text)
  returns table (reason text, count integer, busy uuid[])
  language plpgsql
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_locked uuid[];
  v_waiting uuid[];
  v_running uuid[];
  v_event constant json := json_build_object('by', p_by);
begin
  select coalesce(array_agg(l.id), '{}'), array_agg(l.id) filter (where l.status <> 'processing'),
      array_agg(l.id) filter (where l.status = 'processing')
    into v_locked, v_waiting, v_running
    from (
      select j.id, j.status from oncue.jobs j
      where j.id = any (p_ids)
        and (p_as_of is null or j.created <= p_as_of and not oncue.requeued_since(j, p_as_of))
        and j.ending ->> 'status' is null
      for update skip locked
    ) l;
  if v_waiting is not null then
    perform oncue.append_event(v_now, v_waiting, 'cancelled', (select array_agg(v_event) from unnest(v_waiting)));
    perform oncue.release_dependants(v_now, oncue.end_rows(v_now, v_waiting, 'cancelled', null), false);
  end if;
  if v_running is not null then
    perform oncue.append_event(v_now, v_running, 'cancel_requested', (select array_agg(v_event) from unnest(v_running)));
    update oncue.jobs j set cancel_at = v_now, updated = v_now where j.id = any (v_running);
  end if;
  return query select 'done', cardinality(v_locked), null::uuid[];
  return query
  select s.reason, count(*)::integer, array_agg(s.id) from (
    select i.id, case
      when exists (select from oncue.history h where h.id = any (array[i.id])) then 'INVALID_STATE'
      when exists (
          select from oncue.jobs j where j.id = any (array[i.id])
            and (j.created > p_as_of or oncue.requeued_since(j, p_as_of))) then 'CHANGED'
      when exists (select from oncue.jobs j where j.id = any (array[i.id]) and j.ending ->> 'status' is not null) then 'UNDOING'
      when exists (select from oncue.jobs j where j.id = any (array[i.id])) then 'BUSY'
      else 'JOB_NOT_FOUND' end as reason
    from unnest(p_ids) as i(id) where i.id <> all (v_locked)
  ) s group by s.reason;
end $$;
