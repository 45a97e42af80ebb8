-- planner: none
-- Whether a job ends with the crash of its current run. The rule is crashVerdict() of @oncue/core. One that is being undone
-- has a few crashes of its own: what is left of its undos must not be lost with the first.
create function oncue.is_last_crash(p_job oncue.jobs) returns boolean
  language sql immutable
as $$
  select p_job.cancel_at is not null or p_job.replaced_by is not null
    or p_job.started_at is not null and case when p_job.ending ->> 'status' is null
      then p_job.crashes + 1 >= p_job.max_retries and (p_job.crashes > 0 or p_job.max_retries = 0)
      else p_job.crashes + 1 >= greatest(p_job.max_retries, 3) end
$$;
