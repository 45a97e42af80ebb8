-- planner: none
create function oncue.run_row(p_kind "char", p_id uuid, p_run integer) returns oncue.work_row
  language plpgsql immutable
as $$
declare
  v_row oncue.work_row;
begin
  v_row.kind := p_kind;
  v_row.id := p_id;
  v_row.run := p_run;
  return v_row;
end $$;
