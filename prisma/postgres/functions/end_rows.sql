-- Ends jobs that are not running (blocked or pending), which the caller has locked, and returns
-- which. The caller handles their dependants. Those that have registered undos are undone first, and are not returned.
create function oncue.end_rows(p_now timestamptz, p_ids uuid[], p_status oncue."Status", p_error json) returns uuid[]
  language plpgsql
as $$
declare
  v_ended uuid[];
  v_replacing uuid[];
  v_runs uuid[];
  v_undoing uuid[];
begin
  with gone as (
    delete from oncue.jobs j where j.id = any (p_ids) and j.status in ('blocked', 'pending') and j.ending is null
    returning j.*
  ), kept as (
    insert into oncue.history
      ({{history_columns}},
       crashes, finished_at, status, last_error, fingerprint)
    select
       {{history_values}},
       crashes, p_now, p_status, coalesce(p_error, last_error), coalesce(p_error->>'fingerprint', fingerprint)
    from gone
    on conflict (id) do nothing
    returning id
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', p_now), queue, topic, 0, sum((p_status = 'failed')::integer),
      sum((p_status = 'cancelled')::integer), '', '', 0
    from gone where id in (select k.id from kept k) group by queue, topic
  )
  select array_agg(id) into v_ended from gone;
  if coalesce(cardinality(v_ended), 0) < cardinality(p_ids) then
    select array_agg(j.id) into v_undoing from oncue.jobs j
      where j.id = any (p_ids) and j.status in ('blocked', 'pending') and j.ending is not null and j.ending ->> 'status' is null;
    if v_undoing is not null then
      perform oncue.begin_undo(p_now, v_undoing, array_fill(p_status::text, array[cardinality(v_undoing)]),
        array_fill(p_error, array[cardinality(v_undoing)]));
    end if;
  end if;
  -- A job that waited for the run that it replaces gives the key back to that run, which holds it until it ends.
  select array_agg(d.job_id), array_agg(j.id) into v_replacing, v_runs
    from oncue.deps d join oncue.jobs j on j.id = any (array[d.parent_id]) and j.replaced_by = d.job_id
    where d.job_id = any (v_ended);
  if v_replacing is not null then
    update oncue.keys k set job_id = v_runs[array_position(v_replacing, k.job_id)]
      where k.job_id = any (v_replacing) and k.key like 'u:%';
  end if;
  delete from oncue.deps d where d.job_id = any (v_ended);
  delete from oncue.child_waits w where w.parent_id = any (v_ended);
  delete from oncue.keys k where k.job_id = any (v_ended) and k.until is null;
  return coalesce(v_ended, '{}');
end $$;
