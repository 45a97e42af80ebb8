-- How runs end. Each function is several statements in one round trip, because the CTEs of one
-- statement share a snapshot and would not see each other's writes. Names carry a version: a later
-- release adds _v2, and old workers go on calling _v1 beside it.
--
-- Who waits for whom: a settle waits for rows of its own runs, then for dependants by id, then for
-- slots by key, then for keys. Claims, heartbeats, rescues, polls (tend_v1) and people's actions skip what is
-- locked and wait for nobody, but for the dependants of what they end. So there is no circle in which two
-- could wait for each other. An enqueue that replaces goes the same way: from the job that holds the key to the key.
-- One exception: two failures whose dependants, and theirs, end with them may meet each other's in a different
-- order. Postgres ends one of the two, and it is sent again.
--
-- The planner settings: PL/pgSQL keeps its first plan, which was made when the table may have been
-- empty; without them that plan can be a sequential scan that never goes away. For the same reason ids
-- are looked up by `= any`: by `= s.id`, a planner that believes the table to be small may turn the join
-- around and walk all jobs in search of those few. `any (array[s.id])` can be read one way only. And the
-- status of a job in history is compared as text where the id is known, because none of the partial
-- indexes by status would be the way to it.

-- At another isolation than read committed our functions would look at an old snapshot: limits would be
-- exceeded, and what another transaction has just written would be waited for in vain. The store's own
-- connections ask for it; this refuses those that could not.
create function oncue.require_read_committed_v1() returns void
  language plpgsql
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'The isolation of this transaction is %, not read committed', current_setting('transaction_isolation')
      using errcode = 'OC003';
  end if;
end $$;

-- The bucket of a duration as one letter: half powers of two, from 0 ms to beyond four hours.
-- The same as bucketOf() in packages/db/src/histogram.ts. (date_part, because extract gives a numeric,
-- which is slow; 0.693… is ln 2.)
create function oncue.bucket(p_duration interval) returns text
  language sql immutable parallel safe
  return chr(48 + least(47, floor(2 * ln(1 + greatest(0, date_part('epoch', p_duration) * 1000)) / 0.6931471805599453))::integer);

-- Appends an event to the stream of each job. Another appender may take the version first; then
-- the next one is tried.
create function oncue.append_event_v1(p_now timestamptz, p_ids uuid[], p_type text, p_data json[]) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_ids uuid[] := p_ids;
  v_data json[] := p_data;
begin
  for v_try in 1..100 loop
    exit when coalesce(cardinality(v_ids), 0) = 0;
    with wanted as (
      select w.id, w.data, 1 + coalesce(
        (select e.version from oncue.events e where e.job_id = w.id order by e.version desc limit 1), 0) as version
      from unnest(v_ids, v_data) as w(id, data)
    ), written as (
      insert into oncue.events (job_id, version, type, data, created)
      select w.id, w.version, p_type, w.data, p_now from wanted w
      on conflict (job_id, version) do nothing
      returning job_id
    )
    select coalesce(array_agg(w.id), '{}'), array_agg(w.data) into v_ids, v_data
    from wanted w where w.id not in (select job_id from written);
  end loop;
  if cardinality(v_ids) > 0 then
    raise exception 'Others kept appending events to job %', v_ids[1] using errcode = 'serialization_failure';
  end if;
end $$;

-- Gives the next held jobs of a concurrency key their turn, at p_at or when they are due. The slot is locked by the caller.
create function oncue.promote_v1(p_at timestamptz, p_key text, p_count integer) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  -- First locked, then changed: within one statement a row that somebody else has just changed would be missed.
  v_rows constant tid[] := array(
    select h.ctid from oncue.jobs h
    where h.concurrency_key = substr(p_key, 3) and h.visible_at is null and h.status = 'pending'
    order by h.priority desc, h.run_at, h.id limit p_count
    for update skip locked);
begin
  update oncue.jobs j set visible_at = greatest(p_at, j.run_at) where j.ctid = any (v_rows);
  if cardinality(v_rows) < p_count then
    update oncue.slots s set waiting = false
    where s.key = p_key and s.waiting and not exists (
      select from oncue.jobs h
      where h.concurrency_key = substr(p_key, 3) and h.visible_at is null and h.status = 'pending');
  end if;
end $$;

-- Gives back the slots of runs that ended. Nothing to do, and nothing looked up, where nothing is limited.
create function oncue.free_slots_v1(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_keys text[];
  v_waiting text[];
  v_key text;
  v_count integer;
begin
  -- By its size: a search for a first row would walk those that vacuum has not removed yet.
  if pg_relation_size('oncue.slot_runs') = 0 then return; end if;
  with freed as (
    delete from oncue.slot_runs r where r.job_id = any (p_ids) returning r.key
  )
  select array_agg(key order by key) into v_keys from freed where key like 'k:%';
  if v_keys is null then return; end if;
  -- Waits for claims that are at this key: what they hold back is then seen and promoted.
  select array_agg(l.key) into v_waiting
    from (select s.key, s.waiting from oncue.slots s where s.key = any (v_keys) order by s.key for update) l
    where l.waiting;
  for v_key, v_count in
    select k, count(*) from unnest(v_keys) as k where k = any (v_waiting) group by k order by k
  loop
    perform oncue.promote_v1(p_now, v_key, v_count);
  end loop;
end $$;

-- Ends jobs that are not running (blocked or pending), which are locked by the caller, and answers
-- which. Their own dependants are the caller's affair.
create function oncue.end_rows_v1(p_now timestamptz, p_ids uuid[], p_status oncue."Status", p_error json) returns uuid[]
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_ended uuid[];
  v_replacing uuid[];
  v_runs uuid[];
begin
  with gone as (
    delete from oncue.jobs j where j.id = any (p_ids) and j.status in ('blocked', 'pending')
    returning j.*
  ), kept as (
    insert into oncue.history
      (id, run_at, created, run, timeout_ms, priority, retries, max_retries, queue, topic, payload, retry, unique_key,
       concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta, unique_scope, crashes, finished_at, status,
       last_error, fingerprint)
    select
       id, nullif(run_at, created), created, run, nullif(timeout_ms, 600000), priority, retries, max_retries, queue, topic,
       payload, retry, unique_key, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta, unique_scope, crashes,
       p_now, p_status, coalesce(p_error, last_error), coalesce(p_error->>'fingerprint', fingerprint)
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
  -- A job that waited for the run that it replaces gives the key back: that run holds it until it ends.
  select array_agg(d.job_id), array_agg(j.id) into v_replacing, v_runs
    from oncue.deps d join oncue.jobs j on j.id = any (array[d.parent_id]) and j.replaced_by = d.job_id
    where d.job_id = any (v_ended);
  if v_replacing is not null then
    update oncue.keys k set job_id = v_runs[array_position(v_replacing, k.job_id)]
      where k.job_id = any (v_replacing) and k.key like 'u:%';
  end if;
  delete from oncue.deps d where d.job_id = any (v_ended);
  delete from oncue.keys k where k.job_id = any (v_ended) and k.until is null;
  return coalesce(v_ended, '{}');
end $$;

-- Counts down what jobs wait for: each as often as it is named. Those that wait for nothing more are ready.
create function oncue.count_down_v1(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_queues text[];
begin
  with counted as (
    select m.job_id, count(*)::integer as n from unnest(p_ids) as m(job_id) group by m.job_id
  ), released as (
    update oncue.jobs j set
      deps_left = j.deps_left - c.n,
      status = case when j.deps_left = c.n then 'pending' else j.status end,
      visible_at = case when j.deps_left = c.n then greatest(j.run_at, p_now) end,
      updated = p_now
    from counted c
    where j.id = any (array[c.job_id]) and j.status = 'blocked'
    returning j.queue, j.status
  )
  select array_agg(distinct r.queue) into v_queues from released r where r.status = 'pending';
  -- Whoever waits for work hears of it at the commit.
  perform pg_notify('oncue', q) from unnest(v_queues) as q;
end $$;

create function oncue.parent_failed_v1() returns json
  language sql immutable
  return '{"class":"ParentFailed","message":"A job that this one waits for did not complete",'
    '"code":"PARENT_FAILED","fingerprint":"PARENT_FAILED"}'::json;

-- Tells dependants that their parents ended, and theirs, if they end with them: by a loop and not by
-- recursion, because a chain may be longer than a stack is deep. The parents' rows are gone from the
-- live table. Dependants that stay as they are, because they wait for a failed parent, are not locked.
create function oncue.release_dependants_v1(p_now timestamptz, p_parents uuid[], p_completed boolean) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_parents uuid[] := p_parents;
  v_met uuid[];
  v_stopped uuid[];
  v_cancelled uuid[];
begin
  if not exists (select from oncue.deps) then return; end if;
  while cardinality(v_parents) > 0 loop
    -- By id, because the last two parents of one job may end at the same moment.
    perform from oncue.jobs j
      where j.id = any (array(
        select d.job_id from oncue.deps d where d.parent_id = any (v_parents) and (p_completed or d.policy <> 'wait')))
      order by j.id for update;

    with met as (
      delete from oncue.deps d
      where d.parent_id = any (v_parents) and (p_completed or d.policy = 'go_on')
      returning d.job_id
    )
    select array_agg(m.job_id) into v_met from met m;
    if v_met is not null then
      perform oncue.count_down_v1(p_now, v_met);
    end if;
    exit when p_completed;

    select array_agg(distinct d.job_id) filter (where d.policy = 'stop'),
           array_agg(distinct d.job_id) filter (where d.policy = 'cancel')
      into v_stopped, v_cancelled
      from oncue.deps d where d.parent_id = any (v_parents) and d.policy in ('stop', 'cancel');
    v_parents := oncue.end_rows_v1(p_now, v_stopped, 'failed', oncue.parent_failed_v1())
      || oncue.end_rows_v1(p_now, v_cancelled, 'cancelled', null);
  end loop;
end $$;

-- Ends jobs that are not running, and whoever must not go on without them. They are locked by the caller.
create function oncue.end_waiting_v1(p_now timestamptz, p_ids uuid[], p_status oncue."Status", p_error json) returns void
  language sql
begin atomic
  select oncue.release_dependants_v1(p_now, oncue.end_rows_v1(p_now, p_ids, p_status, p_error), false);
end;

-- What follows when runs ended for good: their slots and keys are free, their dependants told.
create function oncue.after_finish_v1(p_now timestamptz, p_ids uuid[], p_completed boolean, p_keyed uuid[]) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  perform oncue.release_dependants_v1(p_now, p_ids, p_completed);
  perform oncue.free_slots_v1(p_now, p_ids);
  if p_keyed is not null then
    delete from oncue.keys k where k.job_id = any (p_keyed) and k.until is null;
  end if;
end $$;

create function oncue.crash_error_v1(p_topic text) returns json
  language sql immutable
  return json_build_object('class', 'WorkerCrashed', 'code', 'WORKER_CRASHED', 'fingerprint', 'WORKER_CRASHED:' || p_topic,
    'message', 'The worker that ran this job died, or lost its lease');

-- Runs whose worker is dead, or whose lease is over. The rows are locked by the caller, who may hold slots: so runs
-- with dependants that are locked by others are left for the next time.
-- A crash charges only runs that had started. The rule is crashVerdict() of @oncue/core.
create function oncue.crash_v1(p_now timestamptz, p_ids uuid[], out released integer, out failed integer)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_ids uuid[] := p_ids;
  v_started uuid[];
  v_data json[];
  v_failed uuid[];
  v_keyed uuid[];
begin
  if exists (select from oncue.deps) then
    v_ids := array(select unnest(p_ids) except select unnest(oncue.lock_dependants_v1('{}', p_ids)));
  end if;
  select array_agg(j.id), array_agg(json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', j.started_at))
    into v_started, v_data
    from oncue.jobs j where j.id = any (v_ids) and j.started_at is not null;
  if v_started is not null then
    perform oncue.append_event_v1(p_now, v_started, 'run_crashed', v_data);
  end if;

  with gone as (
    delete from oncue.jobs j
    where j.id = any (v_ids)
      and (j.cancel_at is not null or j.replaced_by is not null
        or j.started_at is not null and j.crashes + 1 >= j.max_retries and (j.crashes > 0 or j.max_retries = 0))
    returning j.*,
      (case when j.cancel_at is null and j.replaced_by is null then 'failed' else 'cancelled' end)::oncue."Status" as new_status
  ), kept as (
    insert into oncue.history
      (id, run_at, created, run, timeout_ms, priority, retries, max_retries, queue, topic, payload, retry, unique_key,
       concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta, unique_scope, crashes, started_at, finished_at,
       locked_by, status, last_error, fingerprint)
    select
       id, nullif(run_at, created), created, run, nullif(timeout_ms, 600000), priority, retries, max_retries, queue, topic,
       payload, retry, unique_key, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta, unique_scope,
       crashes + (started_at is not null)::integer, coalesce(started_at, p_now), p_now, locked_by, new_status,
       case when started_at is null then last_error else oncue.crash_error_v1(topic) end,
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
    crashes = j.crashes + (j.started_at is not null)::int,
    visible_at = p_now + case when j.started_at is null then 0 else least(j.crashes::integer ^ 2, 43200) end * interval '1 minute',
    last_error = case when j.started_at is null then j.last_error else oncue.crash_error_v1(j.topic) end,
    fingerprint = case when j.started_at is null then j.fingerprint else 'WORKER_CRASHED:' || j.topic end
  where j.id = any (v_ids);
  get diagnostics released = row_count;

  if v_failed is not null then
    perform oncue.after_finish_v1(p_now, v_failed, false, v_keyed);
  end if;
  perform oncue.free_slots_v1(p_now, v_ids);
end $$;

-- One row a claimed job (kind 'j'), one row a settle that was refused (kind 's'), one row a run after which
-- the job was to go on and is cancelled (kind 'x'), and one that carries the clock and, when nothing was claimed,
-- when to look again (kind 'c': visible_at = now, run_at = next due). What most jobs do not have travels in
-- `extras`, null when there is nothing.
create type oncue.work_row_v1 as (
  kind "char", id uuid, run integer, queue text, topic text, payload json, priority smallint,
  run_at timestamptz, visible_at timestamptz, created timestamptz, retries smallint, max_retries smallint,
  crashes smallint, timeout_ms integer, extras json
);

create function oncue.run_row_v1(p_kind "char", p_id uuid, p_run integer) returns oncue.work_row_v1
  language sql immutable
  return row (p_kind, p_id, p_run, null, null, null, null, null, null, null, null, null, null, null, null)::oncue.work_row_v1;

-- Ends runs. Every write is fenced by (id, run) and status, and by the worker if one is given: after a failover that
-- lost commits, the run number of a lost claim is given out once more. Completions come as arrays sorted by id,
-- because they are the many, and a row finds its place in them by halves (width_bucket); all other
-- outcomes as one JSON array of
-- {id, run, kind: retry | fail | snooze | release | cancel, delayMs, error, fingerprint}.
-- p_big_* are results over the inline limit. Answers a row of kind 's' for each stale entry, and one of kind 'x'
-- for each run after which the job was to go on and is cancelled.
create function oncue.settle_v1(
  p_now timestamptz, p_ids uuid[], p_runs integer[], p_results json[], p_others json,
  p_big_ids uuid[], p_big_runs integer[], p_big_data json[], p_worker uuid default null
) returns setof oncue.work_row_v1
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_done uuid[];
  v_again uuid[];
  v_keyed uuid[];
begin
  perform oncue.require_read_committed_v1();
  -- An enqueue that replaces several jobs waits for them by id. So do the statements below, each for itself.
  if p_others is not null and cardinality(p_ids) + json_array_length(p_others) > 1 then
    perform from oncue.jobs j
      where j.id = any (p_ids || array(select (o ->> 'id')::uuid from json_array_elements(p_others) as o))
        and j.unique_key is not null
      order by j.id for update;
  end if;
  if cardinality(p_ids) > 0 then
    for v_try in 1..100 loop
      begin
        with done as (
          delete from oncue.jobs j
          where j.id = any (p_ids) and j.status = 'processing'
            and j.id = p_ids[width_bucket(j.id, p_ids)] and j.run = p_runs[width_bucket(j.id, p_ids)]
            and (p_worker is null or j.locked_by = p_worker)
          returning j.*, p_results[width_bucket(j.id, p_ids)] as result
        ), kept as (
          insert into oncue.history
            (id, run_at, created, run, timeout_ms, priority, retries, max_retries, queue, topic, payload, retry,
             unique_key, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta, unique_scope, crashes,
             started_at, finished_at, locked_by, status, result, last_error, fingerprint)
          select
             id, nullif(run_at, created), created, run, nullif(timeout_ms, 600000), priority, retries, max_retries, queue, topic,
             payload, retry, unique_key, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta, unique_scope,
             crashes, coalesce(started_at, v_now), v_now, locked_by, 'completed', result, last_error, fingerprint
          from done
        ), counted as (
          insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
          select gen_random_uuid(), date_trunc('minute', v_now), queue, topic, count(*), 0, 0,
            string_agg(oncue.bucket(coalesce(started_at, v_now) - run_at), ''),
            string_agg(oncue.bucket(v_now - coalesce(started_at, v_now)), ''),
            sum(date_part('epoch', v_now - coalesce(started_at, v_now)) * 1000)::bigint
          from done group by queue, topic
        )
        select coalesce(array_agg(id), '{}'), array_agg(id) filter (where unique_key is not null) into v_done, v_keyed from done;
        exit;
      exception when unique_violation then
        -- A job was enqueued again after it had finished: its first record stands. An ON CONFLICT would
        -- cost every completion a record of 48 bytes; this costs them nothing.
        with again as (
          delete from oncue.jobs j
          where j.id = any (p_ids) and j.status = 'processing' and j.run = p_runs[width_bucket(j.id, p_ids)]
            and (p_worker is null or j.locked_by = p_worker)
            and j.id = any (array(select h.id from oncue.history h where h.id = any (p_ids)))
          returning j.id
        )
        select v_again || array_agg(a.id) into v_again from again a;
      end;
    end loop;
    if v_done is null then
      raise exception 'The jobs that were settled kept being enqueued again' using errcode = 'serialization_failure';
    end if;

    if cardinality(p_big_ids) > 0 then
      insert into oncue.payloads (job_id, part, data)
      select s.id, 'result', s.data
      from unnest(p_big_ids, p_big_runs, p_big_data) as s(id, run, data)
      join oncue.history h on h.id = any (array[s.id]) and h.run = s.run and h.status::text = 'completed'
      where s.id = any (v_done)
      on conflict (job_id, part) do update set data = excluded.data;
    end if;
    perform oncue.after_finish_v1(v_now, v_done || v_again, true, v_keyed || v_again);
    if cardinality(v_done) < cardinality(p_ids) then
      -- A settle that is sent again after a lost connection finds its own work done: not stale.
      return query
      select (oncue.run_row_v1('s', s.id, s.run)).* from unnest(p_ids, p_runs) as s(id, run)
      where not exists (
        select from oncue.history h
        where h.id = any (array[s.id]) and h.run = s.run and h.status::text = 'completed'
          and (p_worker is null or h.locked_by = p_worker));
    end if;
  end if;
  if p_others is not null then
    return query select (oncue.run_row_v1(s.kind, s.id, s.run)).* from oncue.settle_others_v1(v_now, p_others, p_worker) as s;
  end if;
end $$;

-- The outcomes that are not a completion. Answers the stale ones ('s'), and those that were to go on and are cancelled
-- ('x'): they were asked to stop, or replaced.
create function oncue.settle_others_v1(p_now timestamptz, p_others json, p_worker uuid)
  returns table (kind "char", id uuid, run integer)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
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
begin
  -- What the row will no longer tell once it runs again: each run that failed, snoozed or was interrupted, in
  -- the job's own stream. A job that snoozes for ever does not fill it: beyond 1000 events only failures are kept.
  select array_agg(f.id) filter (where f.type = 'run_failed'), array_agg(f.data) filter (where f.type = 'run_failed'),
      array_agg(f.id) filter (where f.type = 'run_snoozed'), array_agg(f.data) filter (where f.type = 'run_snoozed'),
      array_agg(f.id) filter (where f.type = 'run_interrupted'), array_agg(f.data) filter (where f.type = 'run_interrupted')
    into v_ids, v_data, v_snoozed, v_snoozed_data, v_interrupted, v_interrupted_data
    from (
      select j.id,
        case s.kind when 'snooze' then 'run_snoozed' when 'release' then 'run_interrupted' else 'run_failed' end as type,
        case s.kind
          when 'snooze' then json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', j.started_at, 'delayMs', s."delayMs")
          when 'release' then json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', j.started_at)
          else json_build_object('run', j.run, 'worker', j.locked_by, 'startedAt', j.started_at, 'error', s.error)
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
      fingerprint = coalesce(s.fingerprint, j.fingerprint)
    from json_to_recordset(p_others) as s(id uuid, run integer, kind text, "delayMs" bigint, error json, fingerprint text)
    where j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
      and (p_worker is null or j.locked_by = p_worker)
      and (s.kind in ('snooze', 'release') or s.kind = 'retry' and j.retries < j.max_retries)
      and j.cancel_at is null and j.replaced_by is null
    returning j.id, j.run, j.queue, j.topic, s.kind
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, retried, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', p_now), queue, topic, 0, 0, 0, count(*)::integer, '', '', 0
    from back where kind = 'retry' group by queue, topic
  )
  select array_agg(b.id), array_agg(b.run) into v_back, v_runs from back b;

  with ended as (
    delete from oncue.jobs j
    using json_to_recordset(p_others) as s(id uuid, run integer, kind text, error json, fingerprint text)
    -- What is left: runs that are over, and those that would go on but were asked to stop, or whose job was replaced.
    where j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing'
      and (p_worker is null or j.locked_by = p_worker)
    returning j.*,
      (case when s.kind = 'fail' or s.kind = 'retry' and j.cancel_at is null and j.replaced_by is null
        then 'failed' else 'cancelled' end)::oncue."Status" as new_status,
      s.kind, s.error, s.fingerprint as new_fingerprint
  ), kept as (
    insert into oncue.history
      (id, run_at, created, run, timeout_ms, priority, retries, max_retries, queue, topic, payload, retry, unique_key,
       concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta, unique_scope, crashes, started_at, finished_at,
       locked_by, status, last_error, fingerprint)
    select
       id, nullif(run_at, created), created, run, nullif(timeout_ms, 600000), priority, retries, max_retries, queue, topic,
       payload, retry, unique_key, concurrency_key, concurrency_limit, parent_id, cursor, progress, trace, meta, unique_scope, crashes,
       coalesce(started_at, p_now), p_now, locked_by, new_status, coalesce(error, last_error),
       coalesce(new_fingerprint, fingerprint)
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
      array_agg(e.id) filter (where e.new_status = 'cancelled' and e.kind <> 'cancel')
    into v_ended, v_runs, v_keyed, v_cancelled from ended e;

  if v_ids is not null then
    perform oncue.append_event_v1(p_now, v_ids, 'run_failed', v_data);
  end if;
  if v_snoozed is not null then
    perform oncue.append_event_v1(p_now, v_snoozed, 'run_snoozed', v_snoozed_data);
  end if;
  if v_interrupted is not null then
    perform oncue.append_event_v1(p_now, v_interrupted, 'run_interrupted', v_interrupted_data);
  end if;
  if v_ended is not null then
    perform oncue.after_finish_v1(p_now, v_ended, false, v_keyed);
  end if;
  if v_back is not null then
    perform oncue.free_slots_v1(p_now, v_back);
  end if;

  return query
  select 's'::"char", s.id, s.run from json_to_recordset(p_others) as s(id uuid, run integer)
  where not exists (select from unnest(v_back || v_ended, v_runs) as d(id, run) where d.id = s.id and d.run = s.run);
  if v_cancelled is not null then
    return query
    select 'x'::"char", d.id, d.run from unnest(v_back || v_ended, v_runs) as d(id, run) where d.id = any (v_cancelled);
  end if;
end $$;
