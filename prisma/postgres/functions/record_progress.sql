-- Updates of runs before they end: progress, cursor, events. Returns the runs that the caller no longer owns. A locked
-- row has a heartbeat or a settle in progress, so it is waited for; while it is locked here, no settle can end the job
-- between the fence and the events. Updates are sorted by id, and locked in that order.
--
-- Row by row: as a join of sets, the first plan, made on a small table, would walk all jobs for ever.
create function oncue.record_progress(p_now timestamptz, p_updates json, p_worker uuid default null)
  returns table (stale_id uuid, stale_run integer)
  language plpgsql
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_update record;
  v_ids uuid[] := '{}';
  v_events json[] := '{}';
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  for v_update in
    select * from json_to_recordset(p_updates) as n(id uuid, run integer, progress text, cursor text, events json)
  loop
    -- None of these is indexed, so it is a heap-only update.
    update oncue.jobs j set
      progress = coalesce(v_update.progress::json, j.progress), cursor = coalesce(v_update.cursor::json, j.cursor),
      updated = v_now
    where j.id = v_update.id and j.run = v_update.run and j.status = 'processing'
      and (p_worker is null or j.locked_by = p_worker);
    if not found then
      stale_id := v_update.id;
      stale_run := v_update.run;
      return next;
    elsif json_array_length(v_update.events) > 0 then
      v_ids := v_ids || v_update.id;
      v_events := v_events || v_update.events;
    end if;
  end loop;
  if v_ids = '{}' then
    return;
  end if;
  -- The events of a run must keep their order, so all of them are retried together.
  for v_try in 1..100 loop
    begin
      insert into oncue.events (job_id, version, type, data, created)
      select k.id, l.version + e.n, e.event ->> 0, (e.event ->> 1)::json,
        v_now - (e.event ->> 2)::integer * interval '1 millisecond'
      from unnest(v_ids, v_events) as k(id, events)
      cross join lateral (
        select coalesce(max(o.version), 0) as version from oncue.events o where o.job_id = k.id
      ) l
      cross join lateral json_array_elements(k.events) with ordinality as e(event, n);
      return;
    exception when unique_violation then
      -- Another writer appended meanwhile.
    end;
  end loop;
  raise exception 'Too many concurrent appends to the events of job %', v_ids[1] using errcode = 'serialization_failure';
end $$;
