-- Takes slots for runs that are about to start. The slot is locked by the caller: `taken` never falls behind `since`,
-- also when the clock is set back.
create function oncue.take_slots(p_now timestamptz, p_until timestamptz, p_slot oncue.slots, p_ids uuid[], p_runs integer[])
  returns void
  language plpgsql
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
