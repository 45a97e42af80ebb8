-- How jobs are handed out.

-- How many more runs a limited key allows now, and when it will allow one again if it is the rate
-- that is used up. The slot is locked by the caller.
create function oncue.room_v1(p_now timestamptz, p_slot oncue.slots, p_limit integer, out room integer, out again timestamptz)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_max constant integer := coalesce(p_slot.max_running, p_limit);
  v_running integer;
  v_oldest timestamptz;
  v_recent bigint[];
begin
  room := 1000000;
  if v_max is not null then
    select count(*), min(r.taken) into v_running, v_oldest
      from oncue.slot_runs r where r.key = p_slot.key and r.taken >= coalesce(p_slot.since, '-infinity');
    room := greatest(0, v_max - v_running);
    -- The next count begins at the oldest run. Not written each time: old versions of the slot have to be walked too.
    v_oldest := least(v_oldest, p_now);
    if v_oldest > coalesce(p_slot.since, '-infinity') + interval '3 seconds' then
      update oncue.slots s set since = v_oldest where s.key = p_slot.key;
    end if;
  end if;
  if p_slot.rate_count is null then return; end if;
  select array_agg(t.ms::bigint order by t.ms::bigint) into v_recent
    from jsonb_array_elements_text(coalesce(p_slot.starts, '[]')) as t(ms)
    where t.ms::bigint > extract(epoch from p_now) * 1000 - p_slot.rate_ms;
  if coalesce(cardinality(v_recent), 0) >= p_slot.rate_count then
    again := to_timestamp((v_recent[1 + cardinality(v_recent) - p_slot.rate_count] + p_slot.rate_ms) / 1000.0);
    room := 0;
  else
    room := least(room, p_slot.rate_count - coalesce(cardinality(v_recent), 0));
  end if;
end $$;

-- Takes slots for runs that are about to start. The slot is locked by the caller: `taken` never falls behind `since`,
-- also when the clock is set back.
create function oncue.take_slots_v1(p_now timestamptz, p_until timestamptz, p_slot oncue.slots, p_ids uuid[], p_runs integer[])
  returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  insert into oncue.slot_runs (key, job_id, run, taken, until)
  select p_slot.key, s.id, s.run, greatest(p_now, p_slot.since), p_until from unnest(p_ids, p_runs) as s(id, run)
  on conflict (job_id, key) do update set run = excluded.run, taken = excluded.taken, until = excluded.until;
  if p_slot.rate_count is null then return; end if;
  update oncue.slots s set starts = (
    select jsonb_agg(t.ms) from (
      select ms from (
        select e.ms::bigint from jsonb_array_elements_text(coalesce(s.starts, '[]')) as e(ms)
        union all
        select (extract(epoch from p_now) * 1000)::bigint from unnest(p_ids)
      ) a(ms)
      where ms > extract(epoch from p_now) * 1000 - s.rate_ms
    ) t(ms))
  where s.key = p_slot.key;
end $$;

-- Looks after the runs of a full slot whose recorded lease end has passed. A run that is over, however that
-- happened, gives its place back; one whose lease is over does if p_crash. Returns whether there is
-- more room than before. The slot is locked by the caller, so no other run takes it meanwhile. A settle takes its
-- rows of slot_runs first and the slot then: those rows are skipped here.
create function oncue.free_overdue_v1(p_now timestamptz, p_slot oncue.slots, p_crash boolean) returns boolean
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_ids constant uuid[] := array(
    select r.job_id from oncue.slot_runs r
    where r.key = p_slot.key and r.taken >= coalesce(p_slot.since, '-infinity') and r.until < p_now limit 100
    for update skip locked);
  v_expired uuid[];
begin
  if v_ids = '{}' then return false; end if;
  if p_crash then
    select array_agg(l.id) into v_expired from (
      select j.id from oncue.jobs j
      where j.id = any (v_ids) and j.status = 'processing' and j.locked_until < p_now for update skip locked) l;
    if v_expired is not null then
      perform oncue.crash_v1(p_now, v_expired);
    end if;
  end if;
  update oncue.slot_runs r set until = j.locked_until from oncue.jobs j
    where r.job_id = any (v_ids) and r.key = p_slot.key
      and j.id = any (array[r.job_id]) and j.run = r.run and j.status = 'processing' and j.locked_until >= p_now;
  delete from oncue.slot_runs r
    where r.job_id = any (v_ids) and r.key = p_slot.key and not exists (
      select from oncue.jobs j where j.id = any (array[r.job_id]) and j.run = r.run and j.status = 'processing');
  return found or v_expired is not null;
end $$;

-- Of candidates with a concurrency key, which must wait. They leave the ready index and are promoted
-- by the settle that frees a slot, so that a full key never stands at the head. A slot that another
-- claim is at is left for later.
create function oncue.hold_back_v1(
  p_now timestamptz, p_until timestamptz, p_ids uuid[], out refused uuid[], out again timestamptz)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_group record;
  v_slot oncue.slots;
  v_room integer;
  v_taken integer;
  v_again timestamptz;
begin
  refused := '{}';
  for v_group in
    select 'k:' || j.concurrency_key as key, min(j.concurrency_limit)::integer as max, min(j.visible_at) as first,
      array_agg(j.id order by c.n) as ids, array_agg(j.run + 1 order by c.n) as runs
    from unnest(p_ids) with ordinality as c(id, n)
    -- The offset keeps the conditions out of the lookup: by them it could be a walk along jobs_keyed.
    cross join lateral (select * from oncue.jobs j where j.id = c.id offset 0) j
    where j.concurrency_key is not null and j.status = 'pending'
    group by 1 order by 1
  loop
    select * into v_slot from oncue.slots s where s.key = v_group.key for update skip locked;
    -- Another claim that makes the same slot is not waited for: it may wait for a slot of this one.
    if not found and pg_try_advisory_xact_lock(7311, hashtext(v_group.key)) then
      insert into oncue.slots (key, since) values (v_group.key, p_now) on conflict do nothing returning * into v_slot;
    end if;
    if not found then
      refused := refused || v_group.ids;
      again := least(again, p_now + interval '5 milliseconds');
      continue;
    end if;
    select r.room into v_room from oncue.room_v1(p_now, v_slot, v_group.max) r;
    if v_room < cardinality(v_group.ids) and oncue.free_overdue_v1(p_now, v_slot, false) then
      select r.room into v_room from oncue.room_v1(p_now, v_slot, v_group.max) r;
    end if;
    v_taken := least(v_room, cardinality(v_group.ids));
    if v_taken > 0 then
      perform oncue.take_slots_v1(p_now, p_until, v_slot, v_group.ids[1:v_taken], v_group.runs[1:v_taken]);
    end if;
    if v_taken < cardinality(v_group.ids) then
      -- With those in hand go others of this key that stand behind them: each is moved once, however many there are.
      update oncue.jobs j set visible_at = null
      where j.id = any (v_group.ids[v_taken + 1:] || array(
        select h.id from oncue.jobs h
        where h.concurrency_key = substr(v_group.key, 3) and h.visible_at between v_group.first and p_now
          and h.status = 'pending' and h.id <> all (v_group.ids)
        limit 1000 for update skip locked));
      update oncue.slots s set waiting = true where s.key = v_group.key and not s.waiting;
      refused := refused || v_group.ids[v_taken + 1:];
    end if;
    -- Each start under a rate names its successor for the moment when its own place is free again.
    if v_slot.rate_count is not null then
      if v_taken > 0 then
        perform oncue.promote_v1(p_now + v_slot.rate_ms * interval '1 millisecond', v_group.key, v_taken);
      end if;
      -- Those that started when nobody waited yet have not.
      if not v_slot.waiting then
        for v_again in
          select to_timestamp((t.ms::bigint + v_slot.rate_ms) / 1000.0)
          from jsonb_array_elements_text(coalesce(v_slot.starts, '[]')) as t(ms)
          where t.ms::bigint > extract(epoch from p_now) * 1000 - v_slot.rate_ms
        loop
          perform oncue.promote_v1(v_again, v_group.key, 1);
        end loop;
      end if;
    end if;
    if v_slot.waiting and v_room > v_taken then
      perform oncue.promote_v1(p_now, v_group.key, v_room - v_taken);
    end if;
  end loop;
end $$;

-- The order in which ageing serves the priorities of a queue: waiting for ageing_ms counts as much as
-- one step of priority. First, for each priority, those that have waited long enough to come before
-- all others (up to `due`); then the rest, by priority.
create function oncue.aged_levels_v1(p_queue text, p_now timestamptz, p_ageing_ms integer,
    out priorities integer[], out dues timestamptz[])
  language sql stable
  set enable_seqscan = off set enable_bitmapscan = off set jit = off
begin atomic
  with recursive level as (
    (select j.priority, j.visible_at from oncue.jobs j
     where j.queue = p_queue and j.visible_at is not null and j.status = 'pending'
     order by j.priority desc, j.visible_at limit 1)
    union all
    select n.priority, n.visible_at from level l, lateral (
      select j.priority, j.visible_at from oncue.jobs j
      where j.queue = p_queue and j.visible_at is not null and j.priority < l.priority and j.status = 'pending'
      order by j.priority desc, j.visible_at limit 1) n
  ), aged as (
    select l.priority::integer as priority,
      l.priority + extract(epoch from p_now - l.visible_at) * 1000 / p_ageing_ms as rank
    from level l where l.visible_at <= p_now
  ), ordered as (
    select a.priority, row_number() over w as n,
      coalesce(p_now - greatest(0, lead(a.rank) over w - a.priority) * p_ageing_ms * interval '1 millisecond', p_now) as due
    from aged a window w as (order by a.rank desc, a.priority desc)
    union all
    select a.priority, 100000 - a.priority, p_now from aged a
  )
  select array_agg(o.priority order by o.n), array_agg(o.due order by o.n) from ordered o;
end;

-- Claims up to p_limit jobs: queue by queue in the order given, priority by priority, then by
-- visible_at and id. It steps from one distinct priority to the next, so that a million jobs
-- scheduled at a high priority are not walked to find a ready one at a low priority.
--
-- p_mark_* are the low-water marks of the caller: per queue and priority, the place up to which it
-- has seen the index. A transaction left open anywhere keeps vacuum from removing the entries of
-- finished jobs, and without the mark each claim would walk all of them again.
--
-- What the caller may remember of its way: the last row names queues of which it has not seen all that is due.
-- `stopped` are those that were paused or at their limit: seen as far as the last job that was taken. Of those
-- `skipped` something was left behind on the way.
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
  set plan_cache_mode = force_generic_plan set jit = off
  set enable_sort = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_until constant timestamptz := v_now + p_lease_ms * interval '1 millisecond';
  v_left integer := p_limit;
  v_queue text;
  v_state oncue.queues;
  v_slot oncue.slots;
  v_room integer;
  v_aged integer[];
  v_dues timestamptz[];
  v_until_due timestamptz;
  v_priority integer;
  v_known integer;
  v_mark_at timestamptz;
  v_mark_id uuid;
  v_ids uuid[];
  v_rows tid[];
  v_start integer;
  v_expired uuid[];
  v_keyed boolean;
  v_refused uuid[];
  v_runs integer[];
  v_due timestamptz;
  v_next_due timestamptz;
  v_looks integer := 0;
  v_stopped text[] := '{}';
  v_skipped text[] := '{}';
begin
  perform oncue.require_read_committed_v1();
  foreach v_queue in array p_queues loop
    select * into v_state from oncue.queues q where q.name = v_queue;
    if v_state.paused_at is not null then
      v_stopped := v_stopped || v_queue;
      continue;
    end if;
    v_room := v_left;
    v_aged := null;
    v_dues := null;
    if v_state.ageing_ms is not null then
      select a.priorities, a.dues into v_aged, v_dues from oncue.aged_levels_v1(v_queue, v_now, v_state.ageing_ms) a;
      v_aged := coalesce(v_aged, '{}');
    end if;
    if exists (select from oncue.slots s where s.key = 'q:' || v_queue) then
      select * into v_slot from oncue.slots s where s.key = 'q:' || v_queue for update skip locked;
      v_due := v_now + interval '5 milliseconds';
      if found then
        select r.room, r.again into v_room, v_due from oncue.room_v1(v_now, v_slot, null) r;
        if v_room = 0 and v_due is null and oncue.free_overdue_v1(v_now, v_slot, true) then
          select r.room, r.again into v_room, v_due from oncue.room_v1(v_now, v_slot, null) r;
        end if;
        v_room := least(v_left, v_room);
      else
        v_room := 0;
      end if;
      if v_room = 0 then
        v_next_due := least(v_next_due, v_due);
        v_stopped := v_stopped || v_queue;
        continue;
      end if;
    else
      v_slot := null;
    end if;

    v_priority := 32768;
    while v_room > 0 loop
      -- The next lower priority: one that the caller has a mark for, or a new one before it.
      v_known := null; v_mark_at := '-infinity'; v_mark_id := '00000000-0000-0000-0000-000000000000';
      v_until_due := v_now;
      if cardinality(v_aged) = 0 then
        -- What has aged is served. The rest as ever, which also finds leases that are over and what is due next.
        v_aged := null;
        v_priority := 32768;
      end if;
      if v_aged is not null then
        v_priority := v_aged[1];
        v_until_due := v_dues[1];
        v_aged := v_aged[2:];
        v_dues := v_dues[2:];
      else
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
      end if;
      exit when v_priority is null;

      select array_agg(c.tid) filter (where c.status = 'pending'), array_agg(c.id) filter (where c.status = 'processing'),
          bool_or(c.concurrency_key is not null)
        into v_rows, v_expired, v_keyed
        from (
          select j.ctid as tid, j.id, j.status, j.concurrency_key from oncue.jobs j
          where j.queue = v_queue and j.priority = v_priority::smallint
            and (j.visible_at, j.id) > (v_mark_at, v_mark_id) and j.visible_at <= v_until_due
            and (j.locked_until is null or j.locked_until < v_now)
            and (p_topics is null or j.topic = any (p_topics))
          order by j.visible_at, j.id
          limit v_room
          for update skip locked
        ) c;

      v_refused := '{}';
      if v_keyed or v_slot.key is not null then
        select array_agg(j.id order by c.n) into v_ids
          from unnest(v_rows) with ordinality as c(tid, n) join oncue.jobs j on j.ctid = c.tid;
      end if;
      if v_keyed and v_ids is not null then
        select h.refused, h.again into v_refused, v_due from oncue.hold_back_v1(v_now, v_until, v_ids) h;
        v_next_due := least(v_next_due, v_due);
        if v_due is not null then
          v_skipped := v_skipped || v_queue;
        end if;
        -- Those held back have a new place in the table, so the rows are found by their ids again.
        select array_agg(j.ctid order by c.n), array_agg(j.id order by c.n) into v_rows, v_ids
          from unnest(v_ids) with ordinality as c(id, n) join oncue.jobs j on j.id = any (array[c.id])
          where c.id <> all (v_refused);
      end if;
      if v_slot.key is not null and v_ids is not null then
        select array_agg(j.run + 1 order by c.n) into v_runs
          from unnest(v_ids) with ordinality as c(id, n) join oncue.jobs j on j.id = any (array[c.id]);
        perform oncue.take_slots_v1(v_now, v_until, v_slot, v_ids, v_runs);
        select * into v_slot from oncue.slots s where s.key = v_slot.key;
      end if;

      if v_rows is not null then
        v_start := greatest(0, p_start - (p_limit - v_left));
        return query
        update oncue.jobs j set
          status = 'processing', locked_until = v_until, locked_by = p_worker, run = j.run + 1,
          started_at = case when v_start >= cardinality(v_rows) or j.ctid = any (v_rows[1:v_start]) then v_now end
        where j.ctid = any (v_rows)
        returning 'j'::"char", j.id, j.run, j.queue, j.topic,
          coalesce(j.payload, (select p.data from oncue.payloads p where p.job_id = j.id and p.part = 'payload')),
          j.priority, j.run_at, j.visible_at, j.created, j.retries, j.max_retries, j.crashes, j.timeout_ms,
          case when num_nonnulls(j.retry, j.parent_id, j.cursor, j.trace, j.meta, j.unique_key, j.concurrency_key) > 0 then
            json_build_object('retry', j.retry, 'parentId', j.parent_id, 'cursor', j.cursor, 'trace', j.trace,
              'meta', j.meta, 'uniqueKey', j.unique_key, 'concurrencyKey', j.concurrency_key) end;
        v_left := v_left - cardinality(v_rows);
        v_room := v_room - cardinality(v_rows);
      end if;

      if v_expired is not null then
        -- Their leases are over. A first crash is claimable at once.
        perform oncue.crash_v1(v_now, v_expired);
      end if;
      if v_expired is not null or (cardinality(v_refused) > 0 and v_due is null) then
        -- What was in the way is not there any more: look at this priority once more, within reason.
        v_looks := v_looks + 1;
        if v_looks > 20 then
          v_next_due := v_now;
          v_skipped := v_skipped || v_queue;
          exit;
        end if;
        if v_aged is not null then
          v_aged := v_priority || v_aged;
          v_dues := v_until_due || v_dues;
        end if;
        v_priority := v_priority + 1;
        continue;
      end if;
      if v_left = p_limit then
        select j.visible_at into v_due from oncue.jobs j
          where j.queue = v_queue and j.priority = v_priority::smallint and j.visible_at > v_now
          order by j.visible_at limit 1;
        v_next_due := least(v_next_due, v_due);
      end if;
    end loop;
    exit when v_left = 0;
    if v_room = 0 then
      v_stopped := v_stopped || v_queue;
    end if;
  end loop;
  return next row ('c', null, null, null, null,
                   case when cardinality(v_stopped || v_skipped) > 0 then
                     json_build_object('stopped', v_stopped, 'skipped', v_skipped) end,
                   null, case when v_left = p_limit then v_next_due end, v_now,
                   null, null, null, null, null, null)::oncue.work_row_v1;
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
  return query select * from oncue.settle_v1(p_now, p_ids, p_runs, p_results, p_others, p_big_ids, p_big_runs, p_big_data,
                                             p_worker);
  return query select * from oncue.claim_v1(p_now, p_worker, p_lease_ms, p_queues, p_topics, p_limit, p_start,
                                            p_mark_queue, p_mark_priority, p_mark_at, p_mark_id);
end $$;
