-- How jobs come in where a plain insert does not do, and how people move them about.

-- Jobs with a key, one by one: whether a job is made is decided by the row in `keys`, which two enqueues cannot
-- both insert. p_jobs is a JSON array of
-- {id, queue, topic, payload, big, priority, maxRetries, timeoutMs, retry, uniqueKey, uniqueScope, uniqueMs, onConflict,
--  ifRunning, onceKey, onceMs, sameQueue, concurrencyKey, concurrencyLimit, parentId, trace, meta, runAt, delayMs, after};
-- payload, big and meta are JSON as text, because a null inside JSON would be no value at all. onceKey is an
-- idempotency key or one of Oncue's own. Returns which job stands for each, and whether it was created, existed or
-- was replaced.
create function oncue.enqueue_keyed_v1(p_now timestamptz, p_jobs json)
  returns table (n integer, job_id uuid, outcome text)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v record;
  v_due timestamptz;
  v_key oncue.keys;
  v_status oncue."Status";
  v_runs uuid;
  v_deps integer;
  v_reserved uuid;
begin
  -- One call at a time for each key, by 512 locks taken in their order: a key may change hands while it is waited
  -- for, so the rows alone give no order. A call takes no more locks than these, however many keys it names.
  perform pg_advisory_xact_lock(7312, b.bucket) from (
    select distinct hashtext(k.topic || ' ' || k.key) & 511 as bucket
    from json_to_recordset(p_jobs) as j(topic text, "onceKey" text, "uniqueKey" text, "uniqueScope" text)
    cross join lateral (values
      (j.topic, j."onceKey"), (case when j."uniqueScope" = 'all' then '' else j.topic end, 'u:' || j."uniqueKey")
    ) as k(topic, key)
    where k.key is not null order by 1) b;
  v_reserved := oncue.reserve_keys_v1(v_now, p_jobs);
  for v in
    select row_number() over () - 1 as n, j.* from json_to_recordset(p_jobs) as j(
      id uuid, queue text, topic text, payload text, big text, priority smallint, "maxRetries" smallint,
      "timeoutMs" integer, retry json, "uniqueKey" text, "uniqueScope" text, "uniqueMs" bigint, "onConflict" text,
      "ifRunning" text, "onceKey" text, "onceMs" bigint, "sameQueue" boolean, "concurrencyKey" text,
      "concurrencyLimit" smallint, "parentId" uuid, trace text, meta text, "runAt" timestamptz, "delayMs" bigint, after jsonb)
  loop
    n := v.n; job_id := v.id; outcome := 'created';
    v_due := coalesce(v."runAt", v_now + v."delayMs" * interval '1 millisecond');
    v_runs := null;

    if v."onceKey" is not null then
      v_key := oncue.take_key_v1(v_now, v.topic, v."onceKey", v.id, v."onceMs", false);
      if v_key.job_id <> v.id then
        if v."sameQueue" then
          perform oncue.assert_queue_v1(v_key.job_id, v.queue);
        end if;
        job_id := v_key.job_id; outcome := 'existing';
        return next;
        continue;
      end if;
    end if;

    if v."uniqueKey" is not null then
      v_key := oncue.take_key_v1(v_now, case when v."uniqueScope" = 'all' then '' else v.topic end, 'u:' || v."uniqueKey",
        v.id, v."uniqueMs", v."onConflict" = 'replace');
      if v_key.job_id <> v.id then
        if v."sameQueue" then
          perform oncue.assert_queue_v1(v_key.job_id, v.queue);
        end if;
        if v."onConflict" = 'reject' then
          raise exception 'Job % holds this unique key', v_key.job_id using errcode = 'OC001';
        end if;
        v_status := null;
        if v."onConflict" = 'replace' then
          -- Locked by take_key_v1, unless it is over.
          select j.status into v_status from oncue.jobs j where j.id = v_key.job_id;
        end if;

        if v."onConflict" = 'existing' or v_status in ('pending', 'blocked') then
          job_id := v_key.job_id; outcome := 'existing';
          -- The key that was just taken stands for the job that is there, not for one that is not.
          update oncue.keys k set job_id = v_key.job_id
            where k.topic = v.topic and k.key = v."onceKey" and k.job_id = v.id;
          if v."onConflict" = 'replace' then
            outcome := 'replaced';
            perform oncue.replace_v1(v_now, v_key.job_id, v.payload, v.big, v.priority, v_due, v.meta, v.trace);
            update oncue.keys k set until = v_now + v."uniqueMs" * interval '1 millisecond'
              where k.topic = v_key.topic and k.key = v_key.key;
          end if;
          return next;
          continue;
        end if;

        -- It runs already, or is over: the new job takes its place.
        update oncue.keys k set job_id = v.id, until = v_now + v."uniqueMs" * interval '1 millisecond'
          where k.topic = v_key.topic and k.key = v_key.key;
        if v_status = 'processing' then
          update oncue.jobs j set replaced_by = v.id, updated = v_now where j.id = v_key.job_id;
          perform oncue.append_event_v1(v_now, array[v_key.job_id], 'replaced', array[json_build_object('jobId', v.id)]);
          if v."ifRunning" = 'wait' then
            v_runs := v_key.job_id;
          end if;
        end if;
      end if;
    end if;

    v_deps := coalesce(jsonb_array_length(v.after), 0)
      + (v_runs is not null and not coalesce(v.after ? v_runs::text, false))::integer;
    insert into oncue.jobs
      (id, queue, topic, payload, priority, max_retries, timeout_ms, retry, unique_key, unique_scope, concurrency_key,
       concurrency_limit, parent_id, trace, meta, created, updated, run_at, visible_at, status, deps_left)
    values
      (v.id, v.queue, v.topic, v.payload::json, v.priority, v."maxRetries", v."timeoutMs", v.retry, v."uniqueKey",
       v."uniqueScope", v."concurrencyKey", v."concurrencyLimit", v."parentId", v.trace, v.meta::jsonb, v_now, v_now, v_due,
       case when v_deps = 0 then v_due end,
       (case when v_deps = 0 then 'pending' else 'blocked' end)::oncue."Status", v_deps);
    if v_runs is not null then
      -- Released by whatever ends that run, as every dependant is. It cannot have ended: its row is locked.
      insert into oncue.deps (job_id, parent_id, policy) values (v.id, v_runs, 'go_on');
    end if;
    if v.meta is not null then
      perform oncue.note_meta_v1(v.id);
    end if;
    if v.big is not null then
      insert into oncue.payloads (job_id, part, data) values (v.id, 'payload', v.big::json);
    end if;
    return next;
  end loop;
  if v_reserved is not null then
    -- Those that were not needed.
    delete from oncue.keys k where k.job_id = v_reserved and k.until = '-infinity';
  end if;
end $$;

-- Refuses a key that a job of another queue has, live or finished. Does not name the job: the caller may not know of it.
create function oncue.assert_queue_v1(p_id uuid, p_queue text) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  if exists (select from oncue.jobs j where j.id = p_id and j.queue <> p_queue)
    or exists (select from oncue.history h where h.id = p_id and h.queue <> p_queue) then
    raise exception 'A job in another queue has this key, and the caller may enqueue into some queues only'
      using errcode = 'OC004';
  end if;
end $$;

-- Calls that want the same keys in different orders would wait for each other for ever. So a call with more than one
-- reserves all of them first, always in the same order: what is free as a row that has expired already, then, because
-- a settle too goes from the job to its key, the jobs that it may replace, then the keys that it may take over.
-- Returns in whose name they are reserved; null: none are.
create function oncue.reserve_keys_v1(p_now timestamptz, p_jobs json) returns uuid
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_id constant uuid := p_jobs -> 0 ->> 'id';
  v_keys text[];
  v_topics text[];
  v_replaces boolean[];
begin
  select array_agg(k.key order by k.key, k.topic), array_agg(k.topic order by k.key, k.topic),
      array_agg(k.replaces order by k.key, k.topic)
    into v_keys, v_topics, v_replaces
    from (
      select k.key, k.topic, bool_or(k.replaces) as replaces
      from json_to_recordset(p_jobs) as j(topic text, "onceKey" text, "uniqueKey" text, "uniqueScope" text, "onConflict" text),
        lateral (values
          (j."onceKey", j.topic, false),
          ('u:' || j."uniqueKey", case when j."uniqueScope" = 'all' then '' else j.topic end, j."onConflict" = 'replace')
        ) as k(key, topic, replaces)
      where k.key is not null
      group by k.key, k.topic
    ) k;
  if cardinality(v_keys) < 2 then return null; end if;
  insert into oncue.keys (topic, key, job_id, until)
    select w.topic, w.key, v_id, '-infinity'
    from unnest(v_topics, v_keys) with ordinality as w(topic, key, n) order by w.n
    on conflict do nothing;
  perform from oncue.jobs j
    where j.id = any (array(
      select k.job_id from unnest(v_topics, v_keys, v_replaces) as w(topic, key, replaces)
      join oncue.keys k on k.topic = any (array[w.topic]) and k.key = any (array[w.key])
      where w.replaces and (k.until is null or k.until > p_now)))
    -- As a settle does: first what runs, then what waits for it.
    order by j.status <> 'processing', j.id for update;
  perform from unnest(v_topics, v_keys, v_replaces) with ordinality as w(topic, key, replaces, n)
    join oncue.keys k on k.topic = any (array[w.topic]) and k.key = any (array[w.key])
    where (w.replaces or k.until <= p_now) and k.until is distinct from '-infinity'
    order by w.n for update of k;
  return v_id;
end $$;

-- Gives a job that waits another payload, time, priority, meta and trace. The row is locked by the caller.
create function oncue.replace_v1(
  p_now timestamptz, p_id uuid, p_payload text, p_big text, p_priority smallint, p_due timestamptz, p_meta text, p_trace text
) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  perform oncue.forget_meta_v1(array_agg(j.id)) from oncue.jobs j
    where j.id = p_id and j.meta is distinct from p_meta::jsonb;
  update oncue.jobs j set
    payload = p_payload::json, priority = p_priority, run_at = p_due, updated = p_now, meta = p_meta::jsonb, trace = p_trace,
    -- One that is held back by a full concurrency key stays so only if it is due: whoever frees a slot does not look.
    visible_at = case when j.status = 'blocked' or j.visible_at is null and p_due <= p_now then null else p_due end
  where j.id = p_id;
  perform oncue.note_meta_v1(p_id);
  delete from oncue.payloads p where p.job_id = p_id and p.part = 'payload';
  if p_big is not null then
    insert into oncue.payloads (job_id, part, data) values (p_id, 'payload', p_big::json);
  end if;
  perform oncue.append_event_v1(p_now, array[p_id], 'replaced', array[null::json]);
end $$;

-- So that lists find a live job by its meta.
create function oncue.note_meta_v1(p_id uuid) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  insert into oncue.job_meta (key, value, created, job_id)
  select e.key, e.value, j.created, j.id from oncue.jobs j, oncue.meta_entries_v1(j.meta) e where j.id = p_id
  on conflict do nothing;
end $$;

-- The contrary, for jobs that are about to go: their meta tells which rows are theirs.
create function oncue.forget_meta_v1(p_ids uuid[]) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  delete from oncue.job_meta m using (
    select e.key, e.value, j.created, j.id from (
      select j.id, j.created, j.meta from oncue.jobs j where j.id = any (p_ids) and j.meta is not null
      union all
      select h.id, h.created, h.meta from oncue.history h where h.id = any (p_ids) and h.meta is not null
    ) j, oncue.meta_entries_v1(j.meta) e offset 0
  ) g
  where m.key = any (array[g.key]) and m.value = any (array[g.value]) and m.created = any (array[g.created])
    and m.job_id = any (array[g.id]);
end $$;

-- Takes a key for a job, or returns whose it is. Waits for a transaction that is about to take it. For a caller that
-- replaces, the job that holds it and then the key are locked, in the order in which a settle takes them.
create function oncue.take_key_v1(
  p_now timestamptz, p_topic text, p_key text, p_id uuid, p_ms bigint, p_replaces boolean
) returns oncue.keys
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_until constant timestamptz := p_now + p_ms * interval '1 millisecond';
  v_key oncue.keys;
begin
  for v_try in 1..100 loop
    insert into oncue.keys (topic, key, job_id, until) values (p_topic, p_key, p_id, v_until)
      on conflict do nothing returning * into v_key;
    if found then return v_key; end if;
    select * into v_key from oncue.keys k where k.topic = p_topic and k.key = p_key;
    continue when not found;
    if v_key.until <= p_now then
      update oncue.keys k set job_id = p_id, until = v_until
        where k.topic = p_topic and k.key = p_key and k.until <= p_now returning * into v_key;
      if found then return v_key; end if;
      continue;
    end if;
    if not p_replaces or v_key.job_id = p_id then return v_key; end if;
    perform from oncue.jobs j where j.id = v_key.job_id for update;
    select * into v_key from oncue.keys k
      where k.topic = p_topic and k.key = p_key and k.job_id = v_key.job_id and (k.until is null or k.until > p_now)
      for update;
    if found then return v_key; end if;
  end loop;
  raise exception 'The key % kept changing hands', p_key using errcode = 'serialization_failure';
end $$;

-- After jobs and their edges were written: refuses edges to nowhere, and resolves those to parents
-- that have ended already. Only edges of these jobs: whoever else waits for the same parents stays unlocked,
-- because the transaction may be the caller's and stay open for long.
create function oncue.link_v1(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_unknown uuid;
  v_met uuid[];
  v_stopped uuid[];
  v_cancelled uuid[];
begin
  select d.parent_id into v_unknown from oncue.deps d
    where d.job_id = any (p_ids)
      and not exists (select from oncue.jobs j where j.id = any (array[d.parent_id]))
      and not exists (select from oncue.history h where h.id = any (array[d.parent_id]))
    limit 1;
  if found then
    raise exception 'There is no job % to wait for', v_unknown using errcode = 'OC002';
  end if;
  with met as (
    delete from oncue.deps d
    where d.job_id = any (p_ids) and exists (
      select from oncue.history h
      where h.id = any (array[d.parent_id]) and (h.status::text = 'completed' or d.policy = 'go_on'))
    returning d.job_id
  )
  select array_agg(m.job_id) into v_met from met m;
  if v_met is not null then
    perform oncue.count_down_v1(v_now, v_met);
  end if;
  select array_agg(distinct d.job_id) filter (where d.policy = 'stop'),
         array_agg(distinct d.job_id) filter (where d.policy = 'cancel')
    into v_stopped, v_cancelled
    from oncue.deps d
    where d.job_id = any (p_ids) and d.policy in ('stop', 'cancel')
      and exists (select from oncue.history h where h.id = any (array[d.parent_id]));
  if v_stopped is not null or v_cancelled is not null then
    -- New jobs are waited for by new jobs alone.
    perform oncue.release_dependants_v1(v_now,
      oncue.end_rows_v1(v_now, v_stopped, 'failed', oncue.parent_failed_v1())
        || oncue.end_rows_v1(v_now, v_cancelled, 'cancelled', null), false);
  end if;
end $$;

-- Puts finished jobs back: attempts start anew, the run number goes on, so that an old run stays stale.
-- Answers how many, and why the others were left.
create function oncue.requeue_v1(p_now timestamptz, p_ids uuid[], p_as_of timestamptz, p_by text)
  returns table (reason text, count integer)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
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
      -- One that was enqueued again after it had finished is live.
      and not exists (select from oncue.jobs j where j.id = any (array[h.id]))
    for update skip locked
  ) f;

  with wanted as (
    select h.id, case when h.unique_scope = 'all' then '' else h.topic end as topic, 'u:' || h.unique_key as key
    from oncue.history h where h.id = any (v_ids) and h.unique_key is not null
  ), taken as (
    insert into oncue.keys as k (topic, key, job_id, until)
    -- Of several with one key the one that has it, or else the first.
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
      (id, created, updated, status, run_at, visible_at, run, timeout_ms, priority, max_retries, queue, topic, payload,
       retry, unique_key, unique_scope, concurrency_key, concurrency_limit, parent_id, cursor, progress, last_error,
       fingerprint, trace, meta)
    select
       b.id, b.created, v_now, 'pending', v_now, v_now, b.run, coalesce(b.timeout_ms, 600000), b.priority, b.max_retries, b.queue,
       b.topic, b.payload, b.retry, b.unique_key, b.unique_scope, b.concurrency_key, b.concurrency_limit, b.parent_id, b.cursor, b.progress,
       b.last_error, b.fingerprint, b.trace, b.meta
    from back b
  )
  select array_agg(b.id) into v_done from back b;
  if v_done is not null then
    perform pg_notify('oncue', q.queue) from (select distinct j.queue from oncue.jobs j where j.id = any (v_done)) q;
    perform oncue.append_event_v1(v_now, v_done, 'requeued',
      (select array_agg(json_build_object('by', p_by)) from unnest(v_done)));
  end if;
  return query select 'done', coalesce(cardinality(v_done), 0);
  return query select 'UNIQUE_KEY_LIVE', cardinality(v_live) where v_live is not null;
  return query
  select s.reason, count(*)::integer from (
    select case
      when exists (select from oncue.jobs j where j.id = any (array[i.id])) then 'INVALID_STATE'
      when exists (select from oncue.history h where h.id = any (array[i.id])) then 'CHANGED'
      else 'JOB_NOT_FOUND' end as reason
    from unnest(p_ids) as i(id)
    where i.id <> all (coalesce(v_done, '{}') || coalesce(v_live, '{}'))
  ) s group by s.reason;
end $$;

-- Cancels what waits; asks what runs. Skips what is locked: it is being claimed or settled this
-- moment, and the caller tries those again (reason BUSY).
create function oncue.cancel_v1(p_now timestamptz, p_ids uuid[], p_as_of timestamptz, p_by text)
  returns table (reason text, count integer, busy uuid[])
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
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
      where j.id = any (p_ids) and (p_as_of is null or j.created <= p_as_of)
      for update skip locked
    ) l;
  if v_waiting is not null then
    perform oncue.append_event_v1(v_now, v_waiting, 'cancelled', (select array_agg(v_event) from unnest(v_waiting)));
    perform oncue.end_waiting_v1(v_now, v_waiting, 'cancelled', null);
  end if;
  if v_running is not null then
    perform oncue.append_event_v1(v_now, v_running, 'cancel_requested', (select array_agg(v_event) from unnest(v_running)));
    update oncue.jobs j set cancel_at = v_now, updated = v_now where j.id = any (v_running);
  end if;
  return query select 'done', cardinality(v_locked), null::uuid[];
  return query
  select s.reason, count(*)::integer, array_agg(s.id) from (
    select i.id, case
      when exists (select from oncue.history h where h.id = any (array[i.id])) then 'INVALID_STATE'
      when exists (select from oncue.jobs j where j.id = any (array[i.id]) and j.created > p_as_of) then 'CHANGED'
      when exists (select from oncue.jobs j where j.id = any (array[i.id])) then 'BUSY'
      else 'JOB_NOT_FOUND' end as reason
    from unnest(p_ids) as i(id) where i.id <> all (v_locked)
  ) s group by s.reason;
end $$;

-- Removes jobs and all that belongs to them, if nobody waits for them.
create function oncue.forget_v1(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  delete from oncue.events e where e.job_id = any (p_ids);
  delete from oncue.payloads p where p.job_id = any (p_ids);
  delete from oncue.keys k where k.job_id = any (p_ids);
  delete from oncue.deps d where d.job_id = any (p_ids);
end $$;

create function oncue.delete_v1(p_now timestamptz, p_ids uuid[], p_as_of timestamptz)
  returns table (reason text, count integer)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_live uuid[];
  v_done uuid[];
begin
  select array_agg(l.id) into v_live from (
    select j.id from oncue.jobs j
    where j.id = any (p_ids) and j.status = 'pending' and (p_as_of is null or j.created <= p_as_of)
      and not exists (select from oncue.deps d where d.parent_id = any (array[j.id]))
    for update skip locked
  ) l;
  perform oncue.forget_meta_v1(v_live);
  delete from oncue.jobs j where j.id = any (v_live);
  with gone as (
    delete from oncue.history h
    where h.id = any (p_ids) and h.status::text = 'failed' and (p_as_of is null or h.finished_at <= p_as_of)
      and not exists (select from oncue.deps d where d.parent_id = any (array[h.id]))
    returning h.*
  ), metas as (
    delete from oncue.job_meta m using (
      select e.key, e.value, o.created, o.id from gone o, oncue.meta_entries_v1(o.meta) e offset 0
    ) g
    where m.key = any (array[g.key]) and m.value = any (array[g.value]) and m.created = any (array[g.created])
      and m.job_id = any (array[g.id])
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', v_now), g.queue, g.topic, 0, -count(*), 0, '', '', 0 from gone g group by g.queue, g.topic
  )
  select coalesce(array_agg(g.id), '{}') || coalesce(v_live, '{}') into v_done from gone g;
  perform oncue.forget_v1(v_now, v_done);
  return query select 'done', cardinality(v_done);
  return query
  select s.reason, count(*)::integer from (
    select case
      when not exists (select from oncue.jobs j where j.id = any (array[i.id]))
        and not exists (select from oncue.history h where h.id = any (array[i.id]))
        then 'JOB_NOT_FOUND'
      when exists (select from oncue.deps d where d.parent_id = any (array[i.id])) then 'HAS_DEPENDANTS'
      when exists (select from oncue.jobs j where j.id = any (array[i.id]) and j.status = 'pending' and j.created > p_as_of)
        or exists (
          select from oncue.history h where h.id = any (array[i.id]) and h.status::text = 'failed' and h.finished_at > p_as_of)
        then 'CHANGED'
      else 'INVALID_STATE' end as reason
    from unnest(p_ids) as i(id) where i.id <> all (v_done)
  ) s group by s.reason;
end $$;

-- Removes up to p_limit finished jobs of one queue and topic that are older than p_before, oldest
-- first. A failed parent that others wait for is kept.
create function oncue.prune_v1(
  p_now timestamptz, p_queue text, p_topic text, p_status oncue."Status", p_before timestamptz, p_limit integer
) returns integer
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_ids uuid[];
begin
  -- Twice, because a plan for every status could use neither of the two partial indexes.
  if p_status = 'completed' then
    select array_agg(o.id) into v_ids from (
      select h.id from oncue.history h
      where h.status = 'completed' and h.queue = p_queue and h.topic = p_topic
        and (hashtext(h.queue) >> 24)::"char" = (hashtext(p_queue) >> 24)::"char"
        and h.created < p_before and h.finished_at < p_before
        and not exists (select from oncue.deps d where d.parent_id = any (array[h.id]))
      order by h.created, h.id limit p_limit
      for update skip locked
    ) o;
  else
    select array_agg(o.id) into v_ids from (
      select h.id from oncue.history h
      where h.status <> 'completed' and h.status = p_status and h.queue = p_queue and h.topic = p_topic
        and h.created < p_before and h.finished_at < p_before
        and not exists (select from oncue.deps d where d.parent_id = any (array[h.id]))
      order by h.created, h.id limit p_limit
      for update skip locked
    ) o;
  end if;
  if v_ids is null then return 0; end if;
  perform oncue.forget_meta_v1(v_ids);
  delete from oncue.history h where h.id = any (v_ids);
  perform oncue.forget_v1(v_now, v_ids);
  insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    values (gen_random_uuid(), date_trunc('minute', v_now), p_queue, p_topic,
      case when p_status = 'completed' then -cardinality(v_ids) else 0 end,
      case when p_status = 'failed' then -cardinality(v_ids) else 0 end,
      case when p_status = 'cancelled' then -cardinality(v_ids) else 0 end, '', '', 0);
  return cardinality(v_ids);
end $$;
