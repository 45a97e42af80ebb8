-- planner: none
create function oncue.run_row(p_kind "char", p_id uuid, p_run integer) returns oncue.work_row
  language sql immutable
  return row (p_kind, p_id, p_run, null, null, null, null, null, null, null, null, null, null, null, null)::oncue.work_row;
