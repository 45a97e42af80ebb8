-- Checks the runs of a full slot whose recorded lease end has passed. A run that is over, for any reason,
-- gives its slot back; one whose lease has expired does so if p_crash. Returns whether there is
-- more room than before. The slot is locked by the caller, so no other run takes it meanwhile. A settle locks its
-- rows of slot_runs first and then the slot: those rows are skipped here.
create function oncue.free_overdue(p_now timestamptz, p_slot oncue.slots, p_crash boolean) returns boolean
  language plpgsql
as $$
declare
  v_ids constant uuid[] := array(
    select r.job_id from oncue.slot_runs r
    where r.key = p_slot.key and r.taken >= coalesce(p_slot.since, '-infinity') and r.until < p_now limit 100
    for update skip locked);
  v_expired uuid[];
begin
  if v_ids = '{}' then return false; end if;
  if p_crash then
    select array_agg(l.id) into v_expired from (
      select j.id from oncue.jobs j
      where j.id = any (v_ids) and j.status = 'processing' and j.locked_until < p_now for update skip locked) l;
    if v_expired is not null then
      perform oncue.crash(p_now, v_expired);
    end if;
  end if;
  update oncue.slot_runs r set until = j.locked_until from oncue.jobs j
    where r.job_id = any (v_ids) and r.key = p_slot.key
      and j.id = any (array[r.job_id]) and j.run = r.run and j.status = 'processing' and j.locked_until >= p_now;
  delete from oncue.slot_runs r
    where r.job_id = any (v_ids) and r.key = p_slot.key and not exists (
      select from oncue.jobs j where j.id = any (array[r.job_id]) and j.run = r.run and j.status = 'processing');
  return found or v_expired is not null;
end $$;
