-- planner: none
-- Ends jobs that are not running, and the dependants that must not run without them. The caller has locked them.
create function oncue.end_waiting(p_now timestamptz, p_ids uuid[], p_status oncue."Status", p_error json) returns void
  language sql
begin atomic
  select oncue.release_dependants(p_now, oncue.end_rows(p_now, p_ids, p_status, p_error), false);
end;
