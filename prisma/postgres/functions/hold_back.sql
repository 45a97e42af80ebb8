-- Returns those of a queue's ready jobs that may start: the `rows` whose concurrency key has room take its slots. The
-- others are `held`: they leave the ready index and are promoted by the settle that frees a slot, so that a full key
-- never blocks its head. Jobs of a slot that another claim has locked are left unchanged, until `again`.
create function oncue.hold_back(
  p_now timestamptz, p_until timestamptz, p_queue text, p_rows tid[], out rows tid[], out held boolean, out again timestamptz)
  language plpgsql
as $$
declare
  v_refused tid[] := '{}';
  v_group record;
  v_slot oncue.slots;
  v_room integer;
  v_taken integer;
  v_start bigint;
begin
  held := false;
  for v_group in
    select 'k:' || j.concurrency_key as key, min(j.concurrency_limit)::integer as max, min(j.visible_at) as first,
      array_agg(c.tid order by c.n) as rows
    from unnest(p_rows) with ordinality as c(tid, n)
    -- The offset keeps the condition out of the lookup, which could otherwise become a walk along jobs_keyed.
    cross join lateral (select * from oncue.jobs j where j.ctid = c.tid offset 0) j
    where j.concurrency_key is not null
    group by 1 order by 1
  loop
    select * into v_slot from oncue.slots s where s.key = v_group.key for update skip locked;
    -- Does not wait for another claim that creates the same slot: that one may wait for a slot of this claim.
    if not found and pg_try_advisory_xact_lock('oncue.slots'::regclass::int, hashtext(v_group.key)) then
      insert into oncue.slots (key, since) values (v_group.key, p_now) on conflict do nothing returning * into v_slot;
    end if;
    if not found then
      v_refused := v_refused || v_group.rows;
      again := least(again, p_now + interval '5 milliseconds');
      continue;
    end if;
    select r.room into v_room from oncue.room(p_now, v_slot, v_group.max) r;
    if v_room < cardinality(v_group.rows) and oncue.free_overdue(p_now, v_slot, false) then
      select r.room into v_room from oncue.room(p_now, v_slot, v_group.max) r;
    end if;
    v_taken := least(v_room, cardinality(v_group.rows));
    if v_taken > 0 then
      perform oncue.take_slots(p_now, p_until, v_slot, v_group.rows[1:v_taken]);
    end if;
    if v_taken < cardinality(v_group.rows) then
      -- Further jobs of this key behind those in hand are throttled with them: each once, however many there are.
      -- Only of this queue: a ready job in another queue shows that it is not claimed there (promote).
      update oncue.jobs j set visible_at = null
      where j.ctid = any (v_group.rows[v_taken + 1:] || array(
        select h.ctid from oncue.jobs h
        where h.concurrency_key = substr(v_group.key, 3) and h.queue = p_queue
          and h.visible_at between v_group.first and p_now and h.status = 'pending' and h.ctid <> all (v_group.rows)
        limit 1000 for update skip locked));
      update oncue.slots s set waiting = true where s.key = v_group.key and not s.waiting;
      v_refused := v_refused || v_group.rows[v_taken + 1:];
      held := true;
    end if;
    -- Each start under a rate has a successor, for the moment when its own place in the interval is free again.
    if v_slot.rate_count is not null then
      if v_taken > 0 then
        perform oncue.promote(
          p_now, p_now + v_slot.rate_ms * interval '1 millisecond', v_group.key, v_taken, p_queue);
      end if;
      -- Runs that started before any job was throttled have none.
      if not v_slot.waiting then
        foreach v_start in array oncue.recent_starts(p_now, v_slot) loop
          perform oncue.promote(
            p_now, to_timestamp((v_start + v_slot.rate_ms) / 1000.0), v_group.key, 1, p_queue);
        end loop;
      end if;
    end if;
    if v_slot.waiting and v_room > v_taken then
      perform oncue.promote(p_now, p_now, v_group.key, v_room - v_taken, p_queue);
    end if;
  end loop;
  rows := case when v_refused = '{}' then p_rows else array(
    select c.tid from unnest(p_rows) with ordinality as c(tid, n) where c.tid <> all (v_refused) order by c.n) end;
end $$;
