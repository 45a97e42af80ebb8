-- planner: none
-- A text, one of several choices or of limited length, or null where the option is absent or null.
create function oncue.text_option(p_path text, p_value jsonb, p_max integer, p_choices text[] default null) returns text
  language plpgsql
as $$
declare
  v_text constant text := p_value #>> '{}';
begin
  if v_text is null then return null; end if;
  if jsonb_typeof(p_value) = 'string' and v_text <> '' and (length(v_text) <= p_max or v_text = any (p_choices)) then
    return v_text;
  end if;
  perform oncue.refuse('INVALID_INPUT', format('%s must be %s, not %s', p_path,
      coalesce('one of ' || array_to_string(p_choices, ', '), format('a string of 1 to %s characters', p_max)),
      left(p_value::text, 60)),
    'Correct the field named in the message.');
end $$;
