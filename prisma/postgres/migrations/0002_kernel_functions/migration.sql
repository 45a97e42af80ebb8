-- The hot path. Each function is several statements in one round trip, because the CTEs of one
-- statement share a snapshot and would not see each other's writes. Names carry a version: a
-- later release adds _v2 and old workers go on calling _v1 beside it.
--
-- Nobody waits for a job's row but a settle, and only for rows of its own runs: claims, heartbeats and
-- rescues skip what is locked. So there is no circle in which two could wait for each other.
--
-- The planner settings: PL/pgSQL keeps its first plan, which was made when the table may have
-- been empty; without them that plan can be a sequential scan that never goes away.

create function oncue.crash_error_v1(p_topic text) returns json
  language sql immutable
  return json_build_object('class', 'WorkerCrashed', 'code', 'WORKER_CRASHED', 'fingerprint', 'WORKER_CRASHED:' || p_topic,
    'message', 'The worker that ran this job died, or lost its lease');

-- Runs whose worker is dead, or whose lease is over. The rows are locked by the caller.
-- A crash charges only runs that had started. The rule is crashVerdict() of @oncue/core.
create function oncue.crash_v1(p_now timestamptz, p_ids uuid[], out released integer, out failed integer)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  with gone as (
    delete from oncue.jobs j using unnest(p_ids) as s(id)
    where j.id = s.id and j.started_at is not null
      and j.crashes + 1 >= j.max_retries and (j.crashes > 0 or j.max_retries = 0)
    returning j.*
  )
  insert into oncue.history
    (id, run_at, created, started_at, finished_at, locked_by, status, run, timeout_ms, priority, retries, max_retries,
     crashes, queue, topic, payload, retry, unique_key, concurrency_key, parent_id, cursor, progress, last_error,
     fingerprint, trace, meta)
  select
     id, run_at, created, started_at, p_now, locked_by, 'failed', run, timeout_ms, priority, retries, max_retries,
     crashes + 1, queue, topic, payload, retry, unique_key, concurrency_key, parent_id, cursor, progress,
     oncue.crash_error_v1(topic), 'WORKER_CRASHED:' || topic, trace, meta
  from gone
  on conflict (id) do nothing;
  get diagnostics failed = row_count;

  update oncue.jobs j set
    status = 'pending', locked_until = null, locked_by = null, started_at = null, updated = p_now,
    crashes = j.crashes + (j.started_at is not null)::int,
    visible_at = p_now + case when j.started_at is null then 0 else least(j.crashes::integer ^ 2, 43200) end * interval '1 minute',
    last_error = case when j.started_at is null then j.last_error else oncue.crash_error_v1(j.topic) end,
    fingerprint = case when j.started_at is null then j.fingerprint else 'WORKER_CRASHED:' || j.topic end
  from unnest(p_ids) as s(id)
  where j.id = s.id;
  get diagnostics released = row_count;
end $$;

-- One row a claimed job (kind 'j'), one row a settle that was refused (kind 's'), and one that
-- carries the clock and, when nothing was found, when the next job is due (kind 'c': visible_at = now,
-- run_at = next due). What most jobs do not have travels in `extras`, null when there is nothing.
create type oncue.work_row_v1 as (
  kind "char", id uuid, run integer, queue text, topic text, payload json, priority smallint,
  run_at timestamptz, visible_at timestamptz, created timestamptz, retries smallint, max_retries smallint,
  crashes smallint, timeout_ms integer, extras json
);

-- Claims up to p_limit jobs: queue by queue in the order given, priority by priority, then by
-- visible_at and id. It steps from one distinct priority to the next, so that a million jobs
-- scheduled at a high priority are not walked to find a ready one at a low priority.
--
-- p_marks are the low-water marks of the caller: per queue and priority, the place up to which
-- it has seen the index. A transaction left open anywhere keeps vacuum from removing the entries
-- of finished jobs, and without the mark each claim would walk all of them again.
--
-- The first p_start jobs count as started; the others are prefetched. Rows of one queue and priority
-- come in the order of the table: sorting a few hundred is cheaper in the client than keeping their
-- order here (measured: an eighth of the claim).
create function oncue.claim_v1(
  p_now timestamptz, p_worker uuid, p_lease_ms integer, p_queues text[], p_topics text[], p_limit integer,
  p_start integer, p_mark_queue text[], p_mark_priority smallint[], p_mark_at timestamptz[], p_mark_id uuid[]
) returns setof oncue.work_row_v1
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set enable_sort = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_until constant timestamptz := v_now + p_lease_ms * interval '1 millisecond';
  v_left integer := p_limit;
  v_queue text;
  v_priority integer;
  v_known integer;
  v_mark_at timestamptz;
  v_mark_id uuid;
  v_rows tid[];
  v_start integer;
  v_expired uuid[];
  v_due timestamptz;
  v_next_due timestamptz;
begin
  foreach v_queue in array p_queues loop
    v_priority := 32768;
    loop
      -- The next lower priority: one that the caller has a mark for, or a new one before it.
      v_known := null; v_mark_at := '-infinity'; v_mark_id := '00000000-0000-0000-0000-000000000000';
      select m.priority, m.at, m.id into v_known, v_mark_at, v_mark_id
        from unnest(p_mark_queue, p_mark_priority, p_mark_at, p_mark_id) as m(queue, priority, at, id)
        where m.queue = v_queue and m.priority < v_priority
        order by m.priority desc limit 1;
      select j.priority into v_priority
        from oncue.jobs j
        where j.queue = v_queue and j.visible_at is not null
          and j.priority < v_priority and j.priority > coalesce(v_known, -32769)
        order by j.priority desc limit 1;
      if found then
        v_mark_at := '-infinity'; v_mark_id := '00000000-0000-0000-0000-000000000000';
      else
        v_priority := v_known;
      end if;
      exit when v_priority is null;

      select array_agg(c.tid) filter (where c.status = 'pending'), array_agg(c.id) filter (where c.status = 'processing')
        into v_rows, v_expired
        from (
          select j.ctid as tid, j.id, j.status from oncue.jobs j
          where j.queue = v_queue and j.priority = v_priority::smallint
            and (j.visible_at, j.id) > (v_mark_at, v_mark_id) and j.visible_at <= v_now
            and (j.locked_until is null or j.locked_until < v_now)
            and (p_topics is null or j.topic = any (p_topics))
          order by j.visible_at, j.id
          limit v_left
          for update skip locked
        ) c;

      if v_expired is not null then
        -- Their leases are over. Put back, then look at this priority once more: a first crash
        -- is claimable at once.
        perform oncue.crash_v1(v_now, v_expired);
      end if;

      if v_rows is not null then
        v_start := greatest(0, p_start - (p_limit - v_left));
        return query
        update oncue.jobs j set
          status = 'processing', locked_until = v_until, locked_by = p_worker, run = j.run + 1, updated = v_now,
          started_at = case when v_start >= cardinality(v_rows) or j.ctid = any (v_rows[1:v_start]) then v_now end
        where j.ctid = any (v_rows)
        returning 'j'::"char", j.id, j.run, j.queue, j.topic,
          coalesce(j.payload, (select p.data from oncue.payloads p where p.job_id = j.id and p.part = 'payload')),
          j.priority, j.run_at, j.visible_at, j.created, j.retries, j.max_retries, j.crashes, j.timeout_ms,
          case when num_nonnulls(j.retry, j.parent_id, j.cursor, j.trace, j.meta, j.unique_key, j.concurrency_key) > 0 then
            json_build_object('retry', j.retry, 'parentId', j.parent_id, 'cursor', j.cursor, 'trace', j.trace,
              'meta', j.meta, 'uniqueKey', j.unique_key, 'concurrencyKey', j.concurrency_key) end;
        v_left := v_left - cardinality(v_rows);
      end if;
      if v_expired is not null then
        v_priority := v_priority + 1;
        continue when v_left > 0;
      end if;
      if v_left = 0 then
        return next row ('c', null, null, null, null, null, null, null, v_now, null, null, null, null, null, null)::oncue.work_row_v1;
        return;
      end if;
      if v_left = p_limit then
        select j.visible_at into v_due from oncue.jobs j
          where j.queue = v_queue and j.priority = v_priority::smallint and j.visible_at > v_now
          order by j.visible_at limit 1;
        v_next_due := least(v_next_due, v_due);
      end if;
    end loop;
  end loop;
  return next row ('c', null, null, null, null, null, null, case when v_left = p_limit then v_next_due end, v_now,
                   null, null, null, null, null, null)::oncue.work_row_v1;
end $$;

create function oncue.stale_row_v1(p_id uuid, p_run integer) returns oncue.work_row_v1
  language sql immutable
  return row ('s'::"char", p_id, p_run, null, null, null, null, null, null, null, null, null, null, null, null)::oncue.work_row_v1;

-- Ends runs. Every write is fenced by (id, run) and status. Completions come as arrays, because
-- they are the many; all other outcomes as one JSON array of
-- {id, run, kind: retry | fail | snooze | release | cancel, delayMs, error, fingerprint}.
-- p_big_* are results over the inline limit. Answers a row of kind 's' for each stale entry.
create function oncue.settle_v1(
  p_now timestamptz, p_ids uuid[], p_runs integer[], p_results json[], p_others json,
  p_big_ids uuid[], p_big_runs integer[], p_big_data json[]
) returns setof oncue.work_row_v1
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_done uuid[];
  v_ids uuid[];
  v_runs integer[];
begin
  if cardinality(p_ids) > 0 then
    loop
      begin
        with done as (
          delete from oncue.jobs j using unnest(p_ids, p_runs, p_results) as s(id, run, result)
          where j.id = s.id and j.run = s.run and j.status = 'processing'
          returning j.*, s.result
        ), kept as (
          insert into oncue.history
            (id, run_at, created, started_at, finished_at, locked_by, status, run, timeout_ms, priority, retries,
             max_retries, crashes, queue, topic, payload, result, retry, unique_key, concurrency_key, parent_id, cursor,
             progress, last_error, fingerprint, trace, meta)
          select
             id, run_at, created, coalesce(started_at, v_now), v_now, locked_by, 'completed', run, timeout_ms, priority,
             retries, max_retries, crashes, queue, topic, payload, result, retry, unique_key, concurrency_key, parent_id,
             cursor, progress, last_error, fingerprint, trace, meta
          from done
        )
        select coalesce(array_agg(d.id), '{}') into v_done from done d;
        exit;
      exception when unique_violation then
        -- A job was enqueued again after it had finished: its first record stands. An ON CONFLICT would
        -- cost every completion a record of 48 bytes; this costs them nothing.
        delete from oncue.jobs j using unnest(p_ids, p_runs) as s(id, run)
        where j.id = s.id and j.run = s.run and j.status = 'processing'
          and exists (select from oncue.history h where h.id = j.id);
      end;
    end loop;
    if cardinality(p_big_ids) > 0 then
      insert into oncue.payloads (job_id, part, data)
      select s.id, 'result', s.data
      from unnest(p_big_ids, p_big_runs, p_big_data) as s(id, run, data)
      join oncue.history h on h.id = s.id and h.run = s.run and h.status = 'completed'
      where s.id = any (v_done)
      on conflict (job_id, part) do update set data = excluded.data;
    end if;
    if cardinality(v_done) < cardinality(p_ids) then
      -- A settle that is sent again after a lost connection finds its own work done: not stale.
      return query
      select (oncue.stale_row_v1(s.id, s.run)).*
      from unnest(p_ids, p_runs) as s(id, run)
      where not exists (
        select from oncue.history h where h.id = s.id and h.run = s.run and h.status = 'completed');
    end if;
  end if;

  if p_others is not null then
    with back as (
      update oncue.jobs j set
        status = 'pending', locked_until = null, locked_by = null, started_at = null, updated = v_now,
        retries = j.retries + (s.kind = 'retry')::int,
        run_at = case when s.kind = 'release' then j.run_at else v_now + s."delayMs" * interval '1 millisecond' end,
        visible_at = v_now + coalesce(s."delayMs", 0) * interval '1 millisecond',
        last_error = coalesce(s.error, j.last_error),
        fingerprint = coalesce(s.fingerprint, j.fingerprint)
      from json_to_recordset(p_others) as s(id uuid, run integer, kind text, "delayMs" bigint, error json, fingerprint text)
      where j.id = s.id and j.run = s.run and j.status = 'processing'
        and (s.kind in ('snooze', 'release') or s.kind = 'retry' and j.retries < j.max_retries)
      returning j.id, j.run
    )
    select array_agg(b.id), array_agg(b.run) into v_ids, v_runs from back b;

    with ended as (
      delete from oncue.jobs j
      using json_to_recordset(p_others) as s(id uuid, run integer, kind text, error json, fingerprint text)
      where j.id = s.id and j.run = s.run and j.status = 'processing' and s.kind in ('retry', 'fail', 'cancel')
      returning j.*, s.kind, s.error, s.fingerprint as new_fingerprint
    ), kept as (
      insert into oncue.history
        (id, run_at, created, started_at, finished_at, locked_by, status, run, timeout_ms, priority, retries, max_retries,
         crashes, queue, topic, payload, retry, unique_key, concurrency_key, parent_id, cursor, progress, last_error,
         fingerprint, trace, meta)
      select
         id, run_at, created, coalesce(started_at, v_now), v_now, locked_by,
         (case when kind = 'cancel' then 'cancelled' else 'failed' end)::oncue."Status", run, timeout_ms, priority, retries,
         max_retries, crashes, queue, topic, payload, retry, unique_key, concurrency_key, parent_id, cursor, progress,
         coalesce(error, last_error), coalesce(new_fingerprint, fingerprint), trace, meta
      from ended
      on conflict (id) do nothing
    )
    select v_ids || array_agg(e.id), v_runs || array_agg(e.run) into v_ids, v_runs from ended e;

    return query
    select (oncue.stale_row_v1(s.id, s.run)).*
    from json_to_recordset(p_others) as s(id uuid, run integer)
    where not exists (select from unnest(v_ids, v_runs) as d(id, run) where d.id = s.id and d.run = s.run);
  end if;
end $$;

-- Settles what is done and claims what is next, in one round trip and one transaction.
create function oncue.settle_and_claim_v1(
  p_now timestamptz, p_ids uuid[], p_runs integer[], p_results json[], p_others json,
  p_big_ids uuid[], p_big_runs integer[], p_big_data json[],
  p_worker uuid, p_lease_ms integer, p_queues text[], p_topics text[], p_limit integer,
  p_start integer, p_mark_queue text[], p_mark_priority smallint[], p_mark_at timestamptz[], p_mark_id uuid[]
) returns setof oncue.work_row_v1
  language plpgsql
as $$
begin
  return query select * from oncue.settle_v1(p_now, p_ids, p_runs, p_results, p_others, p_big_ids, p_big_runs, p_big_data);
  return query select * from oncue.claim_v1(p_now, p_worker, p_lease_ms, p_queues, p_topics, p_limit, p_start,
                                            p_mark_queue, p_mark_priority, p_mark_at, p_mark_id);
end $$;

-- Extends the leases of the runs that are still the caller's and answers those that are not.
-- Parks them too: visible_at moves to the end of the lease, so that thousands of long runs do
-- not stand at the head of the ready index, and a dead worker's runs come back by themselves.
create function oncue.heartbeat_v1(
  p_now timestamptz, p_worker uuid, p_lease_ms integer, p_ids uuid[], p_runs integer[], p_started boolean[]
) returns table (lost_id uuid, lost_run integer)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_until constant timestamptz := v_now + p_lease_ms * interval '1 millisecond';
  v_kept integer;
begin
  -- A lease that is over is extended too if nobody has taken the job. Rows that are locked are being
  -- settled this moment, by this worker or by whoever took over: they are left alone.
  update oncue.jobs j set
    locked_until = v_until, visible_at = v_until, updated = v_now,
    started_at = case when m.started then coalesce(j.started_at, v_now) else j.started_at end
  from (
    select c.id, s.started from unnest(p_ids, p_runs, p_started) as s(id, run, started)
    join oncue.jobs c on c.id = s.id and c.run = s.run and c.status = 'processing'
    for update of c skip locked
  ) m
  where j.id = m.id;
  get diagnostics v_kept = row_count;
  update oncue.workers w set last_beat = v_now where w.id = p_worker;
  if v_kept < cardinality(p_ids) then
    return query
    select s.id, s.run from unnest(p_ids, p_runs) as s(id, run)
    where not exists (
      select from oncue.jobs j where j.id = s.id and j.run = s.run and j.status = 'processing');
  end if;
end $$;

-- Frees the runs of workers whose presence lock has been gone for p_gone_ms. Nobody is declared
-- dead within p_settle_ms of the server's own start: everyone has to reconnect first.
create function oncue.rescue_v1(p_now timestamptz, p_gone_ms integer, p_settle_ms integer)
  returns table (worker uuid, released integer, failed integer)
  language plpgsql
  set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_dead uuid;
  v_ids uuid[];
begin
  update oncue.workers w set missing_since = case when s.seen then null else v_now end
  from (
    select c.id, l.seen
    from oncue.workers c, lateral (
      select exists (
        select from pg_catalog.pg_locks l
        where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
          and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
          and (l.classid::bigint << 32) | l.objid::bigint = c.presence::bigint
      ) as seen
    ) l
    where c.presence is not null and l.seen <> (c.missing_since is null)
    for update of c skip locked
  ) s
  where w.id = s.id;

  if clock_timestamp() < pg_postmaster_start_time() + p_settle_ms * interval '1 millisecond' then
    return;
  end if;
  for v_dead in
    select w.id from oncue.workers w
    where w.missing_since <= v_now - p_gone_ms * interval '1 millisecond'
    for update skip locked
  loop
    -- The live table has no index by worker (a claim would have to write it), so this is a scan:
    -- once a death, not once a job.
    select array_agg(c.id) into v_ids
      from (select j.id from oncue.jobs j where j.locked_by = v_dead for update skip locked) c;
    select c.released, c.failed into released, failed from oncue.crash_v1(v_now, coalesce(v_ids, '{}')) c;
    -- A row that was skipped is in the dead worker's last statement; look again next time.
    if not exists (select from oncue.jobs j where j.locked_by = v_dead) then
      delete from oncue.workers w where w.id = v_dead;
    end if;
    worker := v_dead;
    return next;
  end loop;
end $$;
