-- Runs whose worker is dead, or whose lease has expired. The rows are locked by the caller, who may hold slots: so runs
-- whose dependants are locked by others are left for the next poll.
-- A crash charges only runs that had started. The rule is crashVerdict() of @oncue/core.
create function oncue.crash(p_now timestamptz, p_ids uuid[], out released integer, out failed integer)
  language plpgsql
as $$
declare
  v_ids uuid[] := p_ids;
  v_started uuid[];
  v_data json[];
  v_failed uuid[];
  v_keyed uuid[];
  v_undoing uuid[];
  v_statuses text[];
  v_errors json[];
begin
  if exists (select from oncue.deps) or exists (select from oncue.children) then
    v_ids := array(select unnest(p_ids) except select unnest(oncue.lock_dependants('{}', p_ids)));
  end if;
  select array_agg(j.id) filter (where j.started_at is not null),
      array_agg(json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', oncue.iso_time(j.started_at)))
        filter (where j.started_at is not null),
      array_agg(j.id) filter (where j.ending is not null and j.ending ->> 'status' is null and oncue.is_last_crash(j))
    into v_started, v_data, v_undoing
    from oncue.jobs j where j.id = any (v_ids);
  if v_started is not null then
    perform oncue.append_event(p_now, v_started, 'run_crashed', v_data);
  end if;
  if v_undoing is not null then
    select array_agg(case when j.cancel_at is null and j.replaced_by is null then 'failed' else 'cancelled' end),
        array_agg(case when j.started_at is not null then oncue.crash_error(j.topic) end), array_agg(j.id)
      into v_statuses, v_errors, v_undoing
      from oncue.jobs j where j.id = any (v_undoing);
    perform oncue.begin_undo(p_now, v_undoing, v_statuses, v_errors);
    v_ids := array(select unnest(v_ids) except select unnest(v_undoing));
  end if;

  with gone as (
    delete from oncue.jobs j
    where j.id = any (v_ids) and oncue.is_last_crash(j)
    returning j.*,
      (case when j.cancel_at is null and j.replaced_by is null then 'failed' else 'cancelled' end)::oncue."Status" as new_status
  ), kept as (
    insert into oncue.history
      ({{history_columns}},
       crashes, started_at, finished_at, locked_by, status, last_error, fingerprint)
    select
       {{history_values}},
       crashes + (started_at is not null)::integer, coalesce(started_at, p_now), p_now, locked_by, new_status,
       case when started_at is null then last_error else oncue.crash_error(topic, ending -> 'error') end,
       case when started_at is null then fingerprint else 'WORKER_CRASHED:' || topic end
    from gone
    on conflict (id) do nothing
    returning id
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', p_now), queue, topic, 0, sum((new_status = 'failed')::integer),
      sum((new_status = 'cancelled')::integer), '', '', 0
    from gone where id in (select k.id from kept k) group by queue, topic
  )
  select array_agg(id), array_agg(id) filter (where unique_key is not null) into v_failed, v_keyed from gone;
  failed := coalesce(cardinality(v_failed), 0);

  update oncue.jobs j set
    status = 'pending', locked_until = null, locked_by = null, started_at = null, cancel_at = null, updated = p_now,
    waits = null, crashes = j.crashes + (j.started_at is not null)::int,
    visible_at = p_now + case when j.started_at is null then 0 else least(j.crashes::integer ^ 2, 43200) end * interval '1 minute',
    last_error = case when j.started_at is null then j.last_error else oncue.crash_error(j.topic) end,
    fingerprint = case when j.started_at is null then j.fingerprint else 'WORKER_CRASHED:' || j.topic end
  where j.id = any (v_ids);
  get diagnostics released = row_count;
  released := released + coalesce(cardinality(v_undoing), 0);

  if v_failed is not null then
    perform oncue.after_finish(p_now, v_failed, false, v_keyed);
  end if;
  perform oncue.free_slots(p_now, v_ids);
end $$;
