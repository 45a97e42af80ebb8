-- Removes jobs that no other job waits for, with everything that belongs to them.
create function oncue.forget(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
as $$
begin
  delete from oncue.events e where e.job_id = any (p_ids);
  delete from oncue.payloads p where p.job_id = any (p_ids);
  delete from oncue.keys k where k.job_id = any (p_ids);
  delete from oncue.deps d where d.job_id = any (p_ids);
end $$;
