-- planner: standard, enable_sort = off
-- Claims up to p_limit jobs: queue by queue in the order given, level by level, then by visible_at and id.
-- packages/db/src/sqlite/work/claim.ts takes the same steps, under the same names.
--
-- p_mark_* are the low-water marks of the caller: per queue and priority, the position up to which it has seen the
-- ready index. A transaction left open anywhere keeps vacuum from removing the entries of finished jobs, and
-- without the mark each claim would walk all of them again.
--
-- The last row names the queues in which marks must not move, because the claim has not seen all due jobs:
-- `stopped` queues were paused or at their limit, and read up to the last job taken; in `skipped` queues, jobs
-- were left behind before that.
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
  v_looks integer := 0;
  v_next_due timestamptz;
  v_stopped text[] := '{}';
  v_skipped text[] := '{}';
  v_row oncue.work_row;
  v_queue record;
  v_limit record;
  v_room integer;
  v_aged smallint[];
  v_dues timestamptz[];
  v_served integer;
  v_below integer;
  v_level record;
  v_ready record;
  v_taken record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  for v_queue in
    -- Nested loops, which are all that the settings allow, keep the order of the array. A sort costs as much as the rest.
    select n.name, q.paused_at is not null and coalesce(q.paused_until > v_now, true) as is_paused, q.paused_until,
      q.ageing_ms, s.key is not null as is_limited
    from unnest(p_queues) as n(name)
    left join oncue.queues q on q.name = n.name
    left join oncue.slots s on s.key = 'q:' || n.name
  loop
    exit when v_left = 0;
    v_room := case when v_queue.is_paused then 0 else v_left end;
    if v_queue.is_limited and v_room > 0 then
      v_limit := oncue.queue_room(v_now, v_queue.name);
      v_room := least(v_left, v_limit.room);
      v_next_due := least(v_next_due, v_limit.again);
    end if;
    if v_queue.is_paused then
      v_next_due := least(v_next_due, v_queue.paused_until);
    end if;
    if v_room = 0 then
      v_stopped := v_stopped || v_queue.name;
      continue;
    end if;

    v_aged := '{}';
    if v_queue.ageing_ms is not null then
      select a.priorities, a.dues into v_aged, v_dues from oncue.aged_levels(v_now, v_queue.name, v_queue.ageing_ms) a;
    end if;
    v_served := 0;
    v_below := 32768;
    <<levels>>
    loop
      if v_served < cardinality(v_aged) then
        v_served := v_served + 1;
        select v_aged[v_served] as priority, v_dues[v_served] as due, '-infinity'::timestamptz as mark_at,
            '00000000-0000-0000-0000-000000000000'::uuid as mark_id
          into v_level;
      else
        select l.priority, v_now as due, l.mark_at, l.mark_id into v_level
          from oncue.next_level(v_queue.name, v_below, p_mark_queue, p_mark_priority, p_mark_at, p_mark_id) l;
        v_below := v_level.priority;
      end if;
      exit when v_level.priority is null;

      loop
        v_ready := oncue.ready(
          v_now, v_until, v_queue.name, p_topics, v_level.priority, v_level.due, v_level.mark_at, v_level.mark_id, v_room);
        if cardinality(v_ready.rows) > 0 then
          if v_queue.is_limited then
            perform oncue.take_slots(v_now, v_until, v_limit.slot, v_ready.rows);
          end if;
          v_taken := oncue.take(v_now, v_until, p_worker, v_ready.rows, p_start - (p_limit - v_left));
          if v_taken.big is not null then
            return query select 'p'::"char", p.job_id, null::integer, null::timestamptz, null::timestamptz, null::text, p.data
              from oncue.payloads p where p.job_id = any (v_taken.big) and p.part = 'payload';
          end if;
          v_row.kind := 'j';
          v_row.jobs := v_taken.jobs;
          return next v_row;
          v_left := v_left - cardinality(v_ready.rows);
          v_room := v_room - cardinality(v_ready.rows);
        end if;
        if v_ready.expired is not null then
          -- After a first crash a job can be claimed again at once.
          perform oncue.crash(v_now, v_ready.expired);
        end if;
        if v_ready.again is not null then
          v_next_due := least(v_next_due, v_ready.again);
          v_skipped := v_skipped || v_queue.name;
        end if;
        exit levels when v_room = 0;
        exit when not v_ready.cleared;
        -- Jobs were throttled: search this level again, a limited number of times.
        v_looks := v_looks + 1;
        if v_looks > 20 then
          v_next_due := v_now;
          v_skipped := v_skipped || v_queue.name;
          exit levels;
        end if;
      end loop;

      if v_left = p_limit then
        v_next_due := least(v_next_due, (
          select j.visible_at from oncue.jobs j
          where j.queue = v_queue.name and j.priority = v_level.priority and j.visible_at > v_now
          order by j.visible_at limit 1));
      end if;
    end loop;
    if v_room = 0 and v_queue.ageing_ms is not null then
      -- Levels were served out of order: the last job says nothing about the levels above it.
      v_skipped := v_skipped || v_queue.name;
    elsif v_room = 0 and v_left > 0 then
      v_stopped := v_stopped || v_queue.name;
    end if;
  end loop;
  v_row.kind := 'c';
  v_row.jobs := null;
  v_row.now := v_now;
  if v_left = p_limit then
    v_row.due := v_next_due;
  end if;
  if cardinality(v_stopped || v_skipped) > 0 then
    v_row.data := json_build_object('stopped', v_stopped, 'skipped', v_skipped);
  end if;
  return next v_row;
end $$;
