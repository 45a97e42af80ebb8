-- The starts that count for the rate of a slot, in milliseconds, the oldest first. One that lies more than an interval
-- ahead is from before the clock was set back.
create function oncue.recent_starts(p_now timestamptz, p_slot oncue.slots) returns bigint[]
  language plpgsql
as $$
declare
  v_ms constant bigint := extract(epoch from p_now) * 1000;
begin
  return array(
    select t.ms::bigint from jsonb_array_elements_text(coalesce(p_slot.starts, '[]')) as t(ms)
    where t.ms::bigint > v_ms - p_slot.rate_ms and t.ms::bigint <= v_ms + p_slot.rate_ms
    order by t.ms::bigint);
end $$;
