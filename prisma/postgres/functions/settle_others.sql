-- The outcomes that are not a completion. Returns the stale ones ('s'), those whose job would have continued and is
-- cancelled ('x'): it was asked to stop, or replaced; and those whose job has registered undos, and is undone before it
-- ends ('u').
create function oncue.settle_others(p_now timestamptz, p_others json, p_worker uuid)
  returns table (kind "char", id uuid, run integer)
  language plpgsql
as $$
#variable_conflict use_column
declare
  v_back uuid[];
  v_ended uuid[];
  v_keyed uuid[];
  v_runs integer[];
  v_cancelled uuid[];
  v_ids uuid[];
  v_data json[];
  v_snoozed uuid[];
  v_snoozed_data json[];
  v_interrupted uuid[];
  v_interrupted_data json[];
  v_suspended record;
  v_slept uuid[];
  v_slept_runs integer[];
  v_undoing uuid[];
  v_undoing_runs integer[];
  v_statuses text[];
  v_errors json[];
begin
  -- First, because every run that is left over below ends: also one that would be suspended, if its job was asked to stop.
  for v_suspended in
    select j.id, j.run, s.waits, s.progressed, s.error,
      json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', oncue.iso_time(coalesce(j.started_at, p_now)),
        'for', (select json_agg(json_build_object('kind', w.kind, 'name', w.name))
          from json_to_recordset(s.waits) as w(kind text, name text)), 'error', s.error) as data
    from json_to_recordset(p_others) as s(id uuid, run integer, kind text, waits json, progressed boolean, error json)
    join oncue.jobs j on j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
    where s.kind = 'suspend' and (p_worker is null or j.locked_by = p_worker)
      and j.cancel_at is null and j.replaced_by is null
    for update of j
  loop
    perform oncue.suspend(p_now, v_suspended.id, v_suspended.waits, v_suspended.progressed, v_suspended.error);
    v_slept := v_slept || v_suspended.id;
    v_slept_runs := v_slept_runs || v_suspended.run;
    -- Also the failure of an attempt, as of a run.
    if v_suspended.error is not null or coalesce((
      select e.version from oncue.events e where e.job_id = v_suspended.id order by e.version desc limit 1), 0) < 1000
    then
      perform oncue.append_event(p_now, array[v_suspended.id], 'run_suspended', array[v_suspended.data]);
    end if;
  end loop;
  -- What the row will no longer show once it runs again: each run that failed, snoozed or was interrupted, in
  -- the job's event stream. A job that snoozes for ever does not fill it: beyond 1,000 events only failures are kept.
  -- A prefetched run that ended before its first heartbeat has no recorded start, and was short, as in history.
  select array_agg(f.id) filter (where f.type = 'run_failed'), array_agg(f.data) filter (where f.type = 'run_failed'),
      array_agg(f.id) filter (where f.type = 'run_snoozed'), array_agg(f.data) filter (where f.type = 'run_snoozed'),
      array_agg(f.id) filter (where f.type = 'run_interrupted'), array_agg(f.data) filter (where f.type = 'run_interrupted')
    into v_ids, v_data, v_snoozed, v_snoozed_data, v_interrupted, v_interrupted_data
    from (
      select j.id,
        case s.kind when 'snooze' then 'run_snoozed' when 'release' then 'run_interrupted' else 'run_failed' end as type,
        case s.kind
          when 'snooze' then json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', oncue.iso_time(coalesce(j.started_at, p_now)), 'delayMs', s."delayMs")
          when 'release' then json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', oncue.iso_time(coalesce(j.started_at, p_now)))
          else json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', oncue.iso_time(coalesce(j.started_at, p_now)), 'error', s.error)
        end as data
      from json_to_recordset(p_others) as s(id uuid, run integer, kind text, "delayMs" bigint, error json, interrupted boolean)
      join oncue.jobs j on j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
      where (p_worker is null or j.locked_by = p_worker) and (s.kind in ('retry', 'fail')
        or (s.kind = 'snooze' or s.interrupted) and j.cancel_at is null and j.replaced_by is null and coalesce(
          (select e.version from oncue.events e where e.job_id = j.id order by e.version desc limit 1), 0) < 1000)
      for update of j
    ) f;

  with back as (
    update oncue.jobs j set
      status = 'pending', locked_until = null, locked_by = null, started_at = null, cancel_at = null, updated = p_now,
      retries = j.retries + (s.kind = 'retry')::int,
      run_at = case when s.kind = 'release' then j.run_at else p_now + s."delayMs" * interval '1 millisecond' end,
      visible_at = p_now + coalesce(s."delayMs", 0) * interval '1 millisecond',
      last_error = coalesce(s.error, j.last_error),
      waits = null,
      fingerprint = case when s.kind = 'snooze' then null else coalesce(s.fingerprint, j.fingerprint) end
    from json_to_recordset(p_others) as s(id uuid, run integer, kind text, "delayMs" bigint, error json, fingerprint text)
    where j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
      and (p_worker is null or j.locked_by = p_worker)
      and (s.kind in ('snooze', 'release') or s.kind = 'retry'
        and j.retries < case when j.ending ->> 'status' is null then j.max_retries else greatest(j.max_retries, 3) end)
      and j.cancel_at is null and j.replaced_by is null
    returning j.id, j.run, j.queue, j.topic, s.kind
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, retried, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', p_now), queue, topic, 0, 0, 0, count(*)::integer, '', '', 0
    from back where kind = 'retry' group by queue, topic
  )
  select v_slept || array_agg(b.id), v_slept_runs || array_agg(b.run) into v_back, v_runs from back b;

  with ended as (
    delete from oncue.jobs j
    using json_to_recordset(p_others) as s(id uuid, run integer, kind text, error json, fingerprint text)
    -- The rest: runs that end their job, and those that would continue but were asked to stop, or whose job was replaced.
    where j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
      and (p_worker is null or j.locked_by = p_worker) and (j.ending is null or j.ending ->> 'status' is not null)
    returning j.*,
      (case when s.kind = 'undone' then coalesce(j.ending ->> 'status', 'failed') when s.kind = 'fail' or s.kind = 'retry' and j.cancel_at is null and j.replaced_by is null
        then 'failed' else 'cancelled' end)::oncue."Status" as new_status,
      s.kind, s.error, s.fingerprint as new_fingerprint
  ), kept as (
    insert into oncue.history
      ({{history_columns}},
       crashes, started_at, finished_at, locked_by, status, last_error, fingerprint)
    select
       {{history_values}},
       crashes, coalesce(started_at, p_now), p_now, locked_by, new_status,
       case when kind = 'undone' and ending is not null then ending -> 'error' else coalesce(error, last_error) end,
       case when kind = 'undone' and ending is not null then ending ->> 'fingerprint' else coalesce(new_fingerprint, fingerprint) end
    from ended
    on conflict (id) do nothing
    returning id
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', p_now), queue, topic, 0, sum((new_status = 'failed')::integer),
      sum((new_status = 'cancelled')::integer),
      string_agg(oncue.bucket(coalesce(started_at, p_now) - run_at), ''),
      string_agg(oncue.bucket(p_now - coalesce(started_at, p_now)), ''),
      sum(date_part('epoch', p_now - coalesce(started_at, p_now)) * 1000)::bigint
    from ended where id in (select k.id from kept k) group by queue, topic
  )
  select array_agg(e.id), v_runs || array_agg(e.run), array_agg(e.id) filter (where e.unique_key is not null),
      array_agg(e.id) filter (where e.new_status = 'cancelled' and e.kind not in ('cancel', 'undone'))
    into v_ended, v_runs, v_keyed, v_cancelled from ended e;

  if v_ids is not null then
    perform oncue.append_event(p_now, v_ids, 'run_failed', v_data);
  end if;
  if v_snoozed is not null then
    perform oncue.append_event(p_now, v_snoozed, 'run_snoozed', v_snoozed_data);
  end if;
  if v_interrupted is not null then
    perform oncue.append_event(p_now, v_interrupted, 'run_interrupted', v_interrupted_data);
  end if;
  if v_ended is not null then
    perform oncue.after_finish(p_now, v_ended, false, v_keyed);
  end if;
  if v_back is not null then
    perform oncue.free_slots(p_now, v_back);
  end if;
  if coalesce(cardinality(v_back || v_ended), 0) < json_array_length(p_others) then
    select array_agg(u.id), array_agg(u.run), array_agg(u.status), array_agg(u.error)
      into v_undoing, v_undoing_runs, v_statuses, v_errors
      from (
        select j.id, j.run, s.error,
          case when s.kind in ('fail', 'undone') or s.kind = 'retry' and j.cancel_at is null and j.replaced_by is null
            then 'failed' else 'cancelled' end as status
        from json_to_recordset(p_others) as s(id uuid, run integer, kind text, error json)
        join oncue.jobs j on j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
        where (p_worker is null or j.locked_by = p_worker)
        for update of j
      ) u;
    if v_undoing is not null then
      perform oncue.begin_undo(p_now, v_undoing, v_statuses, v_errors);
      perform oncue.free_slots(p_now, v_undoing);
      v_ended := v_ended || v_undoing;
      v_runs := v_runs || v_undoing_runs;
    end if;
  end if;

  return query
  select 's'::"char", s.id, s.run from json_to_recordset(p_others) as s(id uuid, run integer)
  where not exists (select from unnest(v_back || v_ended, v_runs) as d(id, run) where d.id = s.id and d.run = s.run);
  if v_cancelled is not null then
    return query
    select 'x'::"char", d.id, d.run from unnest(v_back || v_ended, v_runs) as d(id, run) where d.id = any (v_cancelled);
  end if;
  if v_undoing is not null then
    return query select 'u'::"char", u.id, u.run from unnest(v_undoing, v_undoing_runs) as u(id, run);
  end if;
end $$;
