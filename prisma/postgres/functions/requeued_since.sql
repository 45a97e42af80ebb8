-- Whether a live job was requeued after a moment: an action as of that moment is not about it.
create function oncue.requeued_since(p_job oncue.jobs, p_as_of timestamptz) returns boolean
  language plpgsql
as $$
begin
  return p_job.updated > p_as_of and exists (
    select from oncue.events e where e.job_id = p_job.id and e.type = 'requeued' and e.created > p_as_of);
end $$;
