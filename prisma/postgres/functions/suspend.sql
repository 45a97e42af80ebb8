-- planner: none
-- Suspends a job whose run ended and whose row is locked by the caller, until one of p_waits is over: a JSON array of
-- {kind: timer | signal | ask | children, name, key, until, delayMs, after, children}. The first end of a wait is recorded, so that it
-- stands in later runs, whatever they compute; `after` is the last signal of that name which the run has used. Signals that were sent
-- before this lock are delivered here; those sent later find the suspended row. A job that recorded something starts its
-- retries anew. One that waits for the next attempt of a step or an undo is retrying: it has the error of the last one, which
-- a run that did not see that attempt leaves as it is.
create function oncue.suspend(p_now timestamptz, p_id uuid, p_waits json, p_progressed boolean, p_error json)
  returns void
  language plpgsql
as $$
declare
  v_for json;
  v_until timestamptz;
  v_due boolean;
begin
  perform oncue.deliver_signals(p_now, p_id);
  perform oncue.await_children(p_now, p_id, p_waits);
  insert into oncue.outcomes (job_id, key, seq, kind, data, created)
  select p_id, 'wait:' || w.key,
    coalesce((select o.seq from oncue.outcomes o where o.job_id = p_id order by o.seq desc limit 1), 0) + row_number() over (),
    'wait', to_json(oncue.iso_time(coalesce(w.until, p_now + w."delayMs" * interval '1 millisecond'))), p_now
  from json_to_recordset(p_waits) as w(key text, until timestamptz, "delayMs" bigint)
  where w.until is not null or w."delayMs" is not null
  on conflict do nothing;

  select json_agg(json_strip_nulls(json_build_object('kind', w.kind, 'name', w.name, 'until', oncue.iso_time(w.until), 'after', w.after,
        'key', case when w.kind = 'children' then w.key end, 'total', json_array_length(w.children)))),
      min(w.until), coalesce(bool_or(w.is_due), false)
    into v_for, v_until, v_due
    from (
      select w.kind, w.name, w.after, w.key, w.children,
        (select (o.data #>> '{}')::timestamptz from oncue.outcomes o where o.job_id = p_id and o.key = 'wait:' || w.key) as until,
        w.kind = 'signal' and exists (
          select from oncue.outcomes o
          where o.job_id = p_id and o.seq > w.after and o.kind = 'signal' and o.name = w.name)
          or w.kind in ('ask', 'children') and exists (
            select from oncue.outcomes o where o.job_id = p_id and o.key = w.key) as is_due
      from json_to_recordset(p_waits) as w(kind text, name text, key text, after integer, children json)
    ) w;

  update oncue.jobs j set
    status = (case when v_due or v_until is not null then 'pending' else 'blocked' end)::oncue."Status",
    run_at = case when v_due then p_now else greatest(v_until, p_now) end,
    visible_at = case when v_due then p_now when v_until is not null then greatest(v_until, p_now) end,
    waits = json_build_object('since', oncue.iso_time(p_now), 'for', case when v_due then '[]' else v_for end),
    locked_until = null, locked_by = null, started_at = null, updated = p_now,
    last_error = coalesce(p_error, j.last_error),
    fingerprint = case when exists (select from json_to_recordset(p_waits) as w(kind text) where w.kind = 'retry')
      then coalesce(p_error ->> 'fingerprint', j.fingerprint) end,
    retries = case when p_progressed then 0 else j.retries end, crashes = case when p_progressed then 0 else j.crashes end
  where j.id = p_id;
end $$;
