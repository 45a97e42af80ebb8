-- planner: none
-- Refuses a call of the SQL API. The detail is a code of docs/errors.md.
create function oncue.refuse(p_code text, p_message text, p_hint text) returns void
  language plpgsql
as $$
begin
  raise exception using errcode = 'invalid_parameter_value', message = p_message, detail = p_code, hint = p_hint;
end $$;
