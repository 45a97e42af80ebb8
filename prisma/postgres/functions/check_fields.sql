-- planner: none
-- Refuses a value that is not an object, and unknown fields, which are typing errors.
create function oncue.check_fields(p_path text, p_value jsonb, p_known text[]) returns void
  language plpgsql
as $$
declare
  v_unknown text;
begin
  if jsonb_typeof(p_value) <> 'object' then
    perform oncue.refuse('INVALID_INPUT', format('%s must be an object, not %s', p_path, jsonb_typeof(p_value)),
      'Correct the field named in the message.');
  end if;
  select k into v_unknown from jsonb_object_keys(p_value) as k where k <> all (p_known) limit 1;
  if found then
    perform oncue.refuse('INVALID_INPUT', format('%s.%s is unknown', p_path, left(v_unknown, 60)),
      'Known are ' || array_to_string(p_known, ', ') || '.');
  end if;
end $$;
