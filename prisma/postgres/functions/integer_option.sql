-- planner: none
-- A whole number within limits, or null where the option is absent or null.
create function oncue.integer_option(p_path text, p_value jsonb, p_min bigint, p_max bigint) returns bigint
  language plpgsql
as $$
begin
  if p_value is null or p_value = 'null' then return null; end if;
  -- Nested, because the casts would fail for a text.
  if jsonb_typeof(p_value) = 'number' then
    if trunc(p_value::numeric) = p_value::numeric and p_value::numeric between p_min and p_max then
      return p_value::numeric::bigint;
    end if;
  end if;
  perform oncue.refuse('INVALID_INPUT',
    format('%s must be a whole number from %s to %s, not %s', p_path, p_min, p_max, left(p_value::text, 60)),
    'Correct the field named in the message.');
end $$;
