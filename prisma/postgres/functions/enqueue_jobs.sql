-- planner: default
-- Public, for the enqueues of packages/db of any build: jobs with keys, as enqueue_keyed describes them.
create or replace function oncue.enqueue_jobs(p_now timestamptz, p_jobs json)
  returns table (n integer, job_id uuid, outcome text)
  language plpgsql
as $$
#variable_conflict use_column
begin
  return query select * from oncue.enqueue_keyed(p_now, p_jobs);
end $$;
