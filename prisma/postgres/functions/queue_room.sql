-- How many more runs a limited queue allows now, and when to check again if that is known. Locks its slot; one that
-- another claim has locked counts as full for the moment.
create function oncue.queue_room(
  p_now timestamptz, p_queue text, out room integer, out again timestamptz, out slot oncue.slots)
  language plpgsql
as $$
begin
  select * into slot from oncue.slots s where s.key = 'q:' || p_queue for update skip locked;
  if not found then
    room := 0;
    again := p_now + interval '5 milliseconds';
    return;
  end if;
  select r.room, r.again into room, again from oncue.room(p_now, slot, null) r;
  -- Claims skip a full queue, so they would not find the expired leases in it.
  if room = 0 and again is null and oncue.free_overdue(p_now, slot, true) then
    select r.room, r.again into room, again from oncue.room(p_now, slot, null) r;
  end if;
end $$;
