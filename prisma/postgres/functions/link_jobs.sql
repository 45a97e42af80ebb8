-- planner: default
-- Public, for the enqueues of packages/db of any build: applies the parents of new jobs, as link does.
create or replace function oncue.link_jobs(p_now timestamptz, p_ids uuid[]) returns void
  language sql volatile
  as $$ select oncue.link(p_now, p_ids) $$;
