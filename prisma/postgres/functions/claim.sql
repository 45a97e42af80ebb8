-- planner: standard, enable_sort = off
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
create function oncue.claim(
  p_now timestamptz, p_worker uuid, p_lease_ms integer, p_queues text[], p_topics text[], p_limit integer,
  p_start integer, p_mark_queue text[], p_mark_priority smallint[], p_mark_at timestamptz[], p_mark_id uuid[]
) returns setof oncue.work_row
  language plpgsql
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
  v_row oncue.work_row;
begin
  perform oncue.require_read_committed();
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
      select a.priorities, a.dues into v_aged, v_dues from oncue.aged_levels(v_queue, v_now, v_state.ageing_ms) a;
      v_aged := coalesce(v_aged, '{}');
    end if;
    if exists (select from oncue.slots s where s.key = 'q:' || v_queue) then
      select * into v_slot from oncue.slots s where s.key = 'q:' || v_queue for update skip locked;
      v_due := v_now + interval '5 milliseconds';
      if found then
        select r.room, r.again into v_room, v_due from oncue.room(v_now, v_slot, null) r;
        if v_room = 0 and v_due is null and oncue.free_overdue(v_now, v_slot, true) then
          select r.room, r.again into v_room, v_due from oncue.room(v_now, v_slot, null) r;
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
        select h.refused, h.again into v_refused, v_due from oncue.hold_back(v_now, v_until, v_ids) h;
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
        perform oncue.take_slots(v_now, v_until, v_slot, v_ids, v_runs);
        select * into v_slot from oncue.slots s where s.key = v_slot.key;
      end if;

      if v_rows is not null then
        v_start := greatest(0, p_start - (p_limit - v_left));
        return query
        update oncue.jobs j set
          status = 'processing', locked_until = v_until, locked_by = p_worker, run = j.run + 1,
          started_at = case when v_start >= cardinality(v_rows) or j.ctid = any (v_rows[1:v_start]) then v_now end
        where j.ctid = any (v_rows)
        returning 'j'::"char", {{claim_values}},
          case when num_nonnulls({{extra_values}}) > 0 then json_build_object({{extra_entries}}) end;
        v_left := v_left - cardinality(v_rows);
        v_room := v_room - cardinality(v_rows);
      end if;

      if v_expired is not null then
        -- Their leases are over. A first crash is claimable at once.
        perform oncue.crash(v_now, v_expired);
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
  v_row.kind := 'c';
  v_row.visible_at := v_now;
  if v_left = p_limit then
    v_row.run_at := v_next_due;
  end if;
  if cardinality(v_stopped || v_skipped) > 0 then
    v_row.extras := json_build_object('stopped', v_stopped, 'skipped', v_skipped);
  end if;
  return next v_row;
end $$;
