-- Removes jobs that no other job waits for, with everything that belongs to them.
create function oncue.forget(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
as $$
begin
  delete from oncue.events e where e.job_id = any (p_ids);
  delete from oncue.payloads p where p.job_id = any (p_ids);
  delete from oncue.keys k where k.job_id = any (p_ids);
  delete from oncue.outcomes o where o.job_id = any (p_ids);
  delete from oncue.asks a where a.job_id = any (p_ids);
  delete from oncue.signals s where s.job_id = any (p_ids);
  delete from oncue.children c where c.parent_id = any (p_ids);
  delete from oncue.child_waits w where w.child_id = any (p_ids);
  delete from oncue.child_waits w where w.parent_id = any (p_ids);
  delete from oncue.flow_places f where f.job_id = any (p_ids);
  delete from oncue.deps d where d.job_id = any (p_ids);
end $$;
