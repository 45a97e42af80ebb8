-- The consequences of runs that ended their jobs: slots and keys are freed, dependants released.
create function oncue.after_finish(p_now timestamptz, p_ids uuid[], p_completed boolean, p_keyed uuid[]) returns void
  language plpgsql
as $$
begin
  perform oncue.release_dependants(p_now, p_ids, p_completed);
  perform oncue.free_slots(p_now, p_ids);
  if p_keyed is not null then
    delete from oncue.keys k where k.job_id = any (p_keyed) and k.until is null;
  end if;
end $$;
