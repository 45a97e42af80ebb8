-- Removes slots that are no longer needed, and promotes jobs that are throttled although there is room. There may be as
-- many keys as there are users, so it checks the next few of them each time. The session remembers where the last check
-- ended: a row in a table would be written at each poll.
create function oncue.tend_slots(p_now timestamptz) returns void
  language plpgsql
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
  -- An unused slot without a configured limit is recreated when needed. Locked first, then checked again: a claim
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
    select r.room into v_room from oncue.room(p_now, v_slot, v_limit) r;
    -- Also runs of queues that are paused or have no worker: no claim would find them there.
    if v_room = 0 and oncue.free_overdue(p_now, v_slot, true) then
      select r.room into v_room from oncue.room(p_now, v_slot, v_limit) r;
    end if;
    if v_room > 0 then
      perform oncue.promote(p_now, p_now, v_slot.key, v_room, null);
    end if;
  end loop;
end $$;
