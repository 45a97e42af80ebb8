-- Takes slots for runs that are about to start. The jobs and the slot are locked by the caller: `taken` never falls
-- behind `since`, also when the clock is set back.
create function oncue.take_slots(p_now timestamptz, p_until timestamptz, p_slot oncue.slots, p_rows tid[]) returns void
  language plpgsql
as $$
begin
  insert into oncue.slot_runs (key, job_id, run, taken, until)
  select p_slot.key, j.id, j.run + 1, greatest(p_now, p_slot.since), p_until from oncue.jobs j where j.ctid = any (p_rows)
  on conflict (job_id, key) do update set run = excluded.run, taken = excluded.taken, until = excluded.until;
  if p_slot.rate_count is null then return; end if;
  update oncue.slots s set starts = to_jsonb(oncue.recent_starts(p_now, s)
    || array_fill((extract(epoch from p_now) * 1000)::bigint, array[cardinality(p_rows)]))
  where s.key = p_slot.key;
end $$;
