-- How runs stay alive, what they tell meanwhile, and what becomes of those that do not.

-- Extends the leases of the runs that are still the caller's and answers those that are not, those whose rows
-- are locked, and those that somebody asked to stop. Parks them too: visible_at moves to the end of the lease, so
-- that thousands of long runs do not stand at the head of the ready index, and a dead worker's runs
-- come back by themselves.
create function oncue.heartbeat_v1(
  p_now timestamptz, p_worker uuid, p_lease_ms integer, p_ids uuid[], p_runs integer[], p_started boolean[]
) returns table (kind text, lost_id uuid, lost_run integer)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_until constant timestamptz := v_now + p_lease_ms * interval '1 millisecond';
  v_rows tid[];
  v_kept uuid[];
  v_kept_runs integer[];
  v_cancelled uuid[];
begin
  -- A lease that is over is extended too if nobody has taken the job. Rows that are locked are mostly being
  -- settled this moment, by this worker or by whoever took over. To wait for them with others in hand could be
  -- a circle, so they are named, and the caller tries those again.
  v_rows := array(
    select j.ctid from oncue.jobs j
    where j.id = any (p_ids) and j.status = 'processing' and j.locked_by = p_worker
      and j.id = p_ids[width_bucket(j.id, p_ids)] and j.run = p_runs[width_bucket(j.id, p_ids)]
    for no key update skip locked);
  with beaten as (
    update oncue.jobs j set
      locked_until = v_until, visible_at = v_until, updated = v_now,
      started_at = case when p_started[width_bucket(j.id, p_ids)] then coalesce(j.started_at, v_now) else j.started_at end
    where j.ctid = any (v_rows)
    returning j.id, j.run, j.cancel_at
  )
  select coalesce(array_agg(b.id), '{}'), array_agg(b.run), array_agg(b.id) filter (where b.cancel_at is not null)
    into v_kept, v_kept_runs, v_cancelled from beaten b;
  update oncue.workers w set last_beat = v_now
    where w.id = any (array(select b.id from oncue.workers b where b.id = p_worker for no key update skip locked));
  if cardinality(v_kept) < cardinality(p_ids) then
    return query
    select case when j.id is null then 'lost' else 'locked' end, s.id, s.run
    from (select * from unnest(p_ids, p_runs) except select * from unnest(v_kept, v_kept_runs)) as s(id, run)
    left join oncue.jobs j
      on j.id = any (array[s.id]) and j.run = s.run and j.status = 'processing' and j.locked_by = p_worker;
  end if;
  if v_cancelled is not null then
    return query
    select 'cancel', s.id, s.run from unnest(p_ids, p_runs) as s(id, run) where s.id = any (v_cancelled);
  end if;
end $$;

-- What runs tell before they end: progress, cursor, events. Answers those that are not the caller's
-- any more. A row that is locked is being beaten or settled this moment, so it is waited for; and
-- while it is locked here, no settle can end the job between the fence and the events. Notes come
-- sorted by id, and are locked in that order.
--
-- Row by row: joined as sets, the first plan, made on a small table, would walk all jobs for ever.
create function oncue.note_v1(p_now timestamptz, p_notes json, p_worker uuid default null)
  returns table (stale_id uuid, stale_run integer)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_note record;
  v_ids uuid[] := '{}';
  v_events json[] := '{}';
begin
  perform oncue.require_read_committed_v1();
  for v_note in
    select * from json_to_recordset(p_notes) as n(id uuid, run integer, progress text, cursor text, events json)
  loop
    -- None of these is indexed, so it is a heap-only update.
    update oncue.jobs j set
      progress = coalesce(v_note.progress::json, j.progress), cursor = coalesce(v_note.cursor::json, j.cursor),
      updated = v_now
    where j.id = v_note.id and j.run = v_note.run and j.status = 'processing'
      and (p_worker is null or j.locked_by = p_worker);
    if not found then
      stale_id := v_note.id;
      stale_run := v_note.run;
      return next;
    elsif json_array_length(v_note.events) > 0 then
      v_ids := v_ids || v_note.id;
      v_events := v_events || v_note.events;
    end if;
  end loop;
  if v_ids = '{}' then
    return;
  end if;
  -- The events of a run keep their order, so all of them are written, or all of them again.
  for v_try in 1..100 loop
    begin
      insert into oncue.events (job_id, version, type, data, created)
      select k.id, l.version + e.n, e.event ->> 0, (e.event ->> 1)::json, v_now
      from unnest(v_ids, v_events) as k(id, events)
      cross join lateral (
        select coalesce(max(o.version), 0) as version from oncue.events o where o.job_id = k.id
      ) l
      cross join lateral json_array_elements(k.events) with ordinality as e(event, n);
      return;
    exception when unique_violation then
      -- Somebody else appended meanwhile.
    end;
  end loop;
  raise exception 'Others kept appending events to job %', v_ids[1] using errcode = 'serialization_failure';
end $$;

-- Frees the runs of workers whose presence lock, and whose beats, have been gone for p_gone_ms. When most
-- are missing, the network or a failover is the likelier reason: then for p_most_ms. Nobody is declared
-- dead within p_settle_ms of the server's own start, nor within p_grace_ms: the caller has lost connections
-- itself, and the others have to reconnect first. A row without a worker comes last: if somebody is missing and not
-- dead yet it tells when to look again, and whether there is anything to tend.
--
-- Behind a transaction pooler there is no lock. The row of a worker there that has been silent for an hour is
-- removed; its leases have long ended.
--
-- Also the beat of a worker that has no runs to beat for: every few seconds is often enough, and costs
-- an idle worker no commit a second. What settles cannot see is tend_v1, a transaction of its own, so that
-- nothing that goes wrong there undoes a rescue. Where there is nothing to tend, a poll is one statement.
create function oncue.rescue_v1(
  p_now timestamptz, p_gone_ms integer, p_most_ms integer, p_settle_ms integer, p_grace_ms integer, p_worker uuid
) returns table (worker uuid, released integer, failed integer, look_again_ms integer, untended boolean)
  language plpgsql
  set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_may_die_at constant timestamptz := greatest(
    pg_postmaster_start_time() + p_settle_ms * interval '1 millisecond',
    clock_timestamp() + p_grace_ms * interval '1 millisecond');
  v_patience interval;
  v_dead uuid;
  v_ids uuid[];
begin
  perform oncue.require_read_committed_v1();
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

  -- The caller lives, whatever its row says: so one that is missing is never most of them.
  select interval '1 millisecond' * case
      when count(w.missing_since) > greatest(1, count(*) - count(w.missing_since)) then p_most_ms else p_gone_ms end
    into v_patience from oncue.workers w where w.presence is not null;
  for v_dead in
    select w.id from oncue.workers w
    where w.missing_since is not null and greatest(w.missing_since, w.last_beat) <= v_now - v_patience
      and w.id is distinct from p_worker and clock_timestamp() >= v_may_die_at
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
      delete from oncue.leaders l where l.held_by = v_dead::text;
    end if;
    worker := v_dead;
    return next;
  end loop;

  return query
  select null::uuid, null::integer, null::integer, case when count(*) > 0 then ceil(1000 * extract(epoch from greatest(
      min(greatest(w.missing_since, w.last_beat)) + v_patience - v_now,
      v_may_die_at - clock_timestamp(),
      interval '100 milliseconds')))::integer end, oncue.is_untended_v1()
  from oncue.workers w where w.missing_since is not null and w.id is distinct from p_worker;
  -- A row that is locked is being looked at by another rescue, which must not be waited for with rows in hand.
  update oncue.workers w set last_beat = v_now
    where w.id = any (array(
      select b.id from oncue.workers b
      where b.id = p_worker and b.last_beat <= v_now - interval '5 seconds' for no key update skip locked));
  -- Not right after a cut: the others may have been as silent as the caller.
  if clock_timestamp() >= v_may_die_at then
    delete from oncue.workers w
      where w.id = any (array(
        select b.id from oncue.workers b
        where b.presence is null and b.last_beat <= v_now - interval '1 hour' for update skip locked));
  end if;
end $$;

-- Whether tend_v1 has something to look at.
create function oncue.is_untended_v1() returns boolean
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
begin
  return exists (select from oncue.deps d where not d.checked) or exists (select from oncue.slots);
end $$;

-- What settles cannot see at the moment they happen. Idempotent; everybody does it in their poll, one at a
-- time: a second one has nothing to add. It skips what is locked and leaves it for the next time, and takes
-- its locks in the order of a settle: dependants, then slots. Live parents come last, shared, and nothing is
-- waited for after them: a job in the middle of a chain is both, and must not be shared first and changed then.
create function oncue.tend_v1(p_now timestamptz) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_parents uuid[];
  v_completed uuid[];
  v_other uuid[];
  v_gone uuid[];
  v_busy uuid[];
  v_live uuid[];
  v_edges tid[];
begin
  perform oncue.require_read_committed_v1();
  if not pg_try_advisory_xact_lock(7310, 580) then return; end if;

  -- A parent may have ended after an edge to it was written and before it was committed: then neither
  -- saw the other. So each edge is looked at once more. A parent that was deleted meanwhile did not complete,
  -- and nobody can requeue it: there is nothing to wait for.
  v_parents := array(
    select distinct d.parent_id from (select u.parent_id from oncue.deps u where not u.checked limit 1000) d);
  if cardinality(v_parents) > 0 then
    v_completed := array(
      select h.id from oncue.history h where h.id = any (v_parents) and h.status::text = 'completed');
    v_other := array(
      select h.id from oncue.history h where h.id = any (v_parents) and h.status::text <> 'completed');
    v_gone := array(
      select p.id from unnest(v_parents) as p(id)
      except select j.id from oncue.jobs j where j.id = any (v_parents)
      except select h.id from oncue.history h where h.id = any (v_parents));
    if cardinality(v_completed || v_other || v_gone) > 0 then
      v_busy := oncue.lock_dependants_v1(v_completed || v_gone, v_other);
      v_completed := array(select unnest(v_completed) except select unnest(v_busy));
      v_other := array(select unnest(v_other) except select unnest(v_busy));
      v_gone := array(select unnest(v_gone) except select unnest(v_busy));
      perform oncue.release_dependants_v1(v_now, v_completed, true);
      update oncue.deps d set policy = 'stop' where d.parent_id = any (v_gone) and d.policy = 'wait';
      perform oncue.release_dependants_v1(v_now, v_other || v_gone, false);
    end if;
  end if;

  perform oncue.tend_slots_v1(v_now);

  -- A live parent whose row is not being deleted this moment: whoever ends it from now on sees the edge.
  if cardinality(v_parents) > 0 then
    v_live := array(
      select l.id from (select j.id from oncue.jobs j where j.id = any (v_parents) for key share skip locked) l);
    v_edges := array(
      select e.ctid from oncue.deps e
      -- Behind a parent that did not complete only those that wait for its requeue. Any other edge was committed
      -- after the release above and has to be seen by the next one.
      where not e.checked and (e.parent_id = any (v_live) or e.parent_id = any (v_other) and e.policy = 'wait')
      for update skip locked);
    update oncue.deps d set checked = true where d.ctid = any (v_edges);
  end if;
end $$;

-- Slots that are not needed any more, and jobs that wait although there is room. There may be as many keys as there
-- are users, so it looks at the next few of them each time. The session remembers where the last look ended: a row in a
-- table would be written at each poll.
create function oncue.tend_slots_v1(p_now timestamptz) returns void
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  c_some constant integer := 200;
  v_after text;
  v_keys text[];
  v_slot oncue.slots;
  v_limit integer;
  v_room integer;
begin
  v_after := coalesce(current_setting('oncue.slots_after', true), '');
  v_keys := array(select s.key from oncue.slots s where s.key > v_after order by s.key limit c_some);
  if cardinality(v_keys) < c_some and v_after <> '' then
    v_keys := v_keys || array(select s.key from oncue.slots s where s.key <= v_after order by s.key limit c_some - cardinality(v_keys));
  end if;
  perform set_config('oncue.slots_after', case when cardinality(v_keys) < c_some then '' else v_keys[c_some] end, false);
  -- A slot that nobody uses and nobody set is made anew when needed. First locked, then looked at once more: a claim
  -- may have taken it meanwhile.
  v_keys := array(
    select i.key from oncue.slots i
    where i.key = any (v_keys) and i.key like 'k:%' and not i.waiting and i.max_running is null and i.rate_count is null
      and not exists (
        select from oncue.slot_runs r where r.key = any (array[i.key]) and r.taken >= coalesce(i.since, '-infinity'))
    for update skip locked);
  delete from oncue.slots s where s.key = any (v_keys)
    and not exists (select from oncue.slot_runs r where r.key = any (array[s.key]) and r.taken >= coalesce(s.since, '-infinity'));

  v_after := coalesce(current_setting('oncue.waiting_after', true), '');
  v_keys := array(select s.key from oncue.slots s where s.waiting and s.key > v_after order by s.key limit c_some);
  if cardinality(v_keys) < c_some and v_after <> '' then
    v_keys := v_keys || array(
      select s.key from oncue.slots s where s.waiting and s.key <= v_after order by s.key limit c_some - cardinality(v_keys));
  end if;
  perform set_config('oncue.waiting_after', case when cardinality(v_keys) < c_some then '' else v_keys[c_some] end, false);
  for v_slot in select * from oncue.slots s where s.key = any (v_keys) for update skip locked loop
    v_limit := (
      select h.concurrency_limit from oncue.jobs h
      where h.concurrency_key = substr(v_slot.key, 3) and h.visible_at is null and h.status = 'pending' limit 1);
    select r.room into v_room from oncue.room_v1(p_now, v_slot, v_limit) r;
    -- Also runs of queues that are paused or have no worker: no claim would look after them there.
    if v_room = 0 and oncue.free_overdue_v1(p_now, v_slot, true) then
      select r.room into v_room from oncue.room_v1(p_now, v_slot, v_limit) r;
    end if;
    if v_room > 0 then
      perform oncue.promote_v1(p_now, v_slot.key, v_room);
    end if;
  end loop;
end $$;

-- Locks the dependants of parents that have ended, as far as they are free, and returns the parents of those
-- that are not. Of a parent that did not complete, only the dependants that do not go on waiting for it.
create function oncue.lock_dependants_v1(p_parents uuid[], p_unsuccessful uuid[]) returns uuid[]
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  v_ids constant uuid[] := array(
    select d.job_id from oncue.deps d where d.parent_id = any (p_parents)
    union
    select d.job_id from oncue.deps d where d.parent_id = any (p_unsuccessful) and d.policy <> 'wait');
  v_locked constant uuid[] := array(
    select j.id from oncue.jobs j where j.id = any (v_ids) order by j.id for update skip locked);
  v_left constant uuid[] := array(select unnest(v_ids) except select unnest(v_locked));
begin
  return array(
    select distinct d.parent_id from oncue.deps d
    where d.job_id = any (array(select j.id from oncue.jobs j where j.id = any (v_left)))
      and d.parent_id = any (p_parents || p_unsuccessful));
end $$;
