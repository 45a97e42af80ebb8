-- How many more runs a limited key allows now, and when it allows the next one if its rate
-- is used up. The slot is locked by the caller.
create function oncue.room(p_now timestamptz, p_slot oncue.slots, p_limit integer, out room integer, out again timestamptz)
  language plpgsql
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
    -- The next count begins at the oldest run. Not written each time, because old versions of the slot cost reads too.
    v_oldest := least(v_oldest, p_now);
    if v_oldest > coalesce(p_slot.since, '-infinity') + interval '3 seconds' then
      update oncue.slots s set since = v_oldest where s.key = p_slot.key;
    end if;
  end if;
  if p_slot.rate_count is null then return; end if;
  v_recent := oncue.recent_starts(p_now, p_slot);
  if cardinality(v_recent) >= p_slot.rate_count then
    again := to_timestamp((v_recent[1 + cardinality(v_recent) - p_slot.rate_count] + p_slot.rate_ms) / 1000.0);
    room := 0;
  else
    room := least(room, p_slot.rate_count - cardinality(v_recent));
  end if;
end $$;
