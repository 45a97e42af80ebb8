-- planner: none
-- A moment, cut to milliseconds, or null where the option is absent or null.
create function oncue.run_at_option(p_value jsonb) returns timestamptz
  language plpgsql
as $$
declare
  v_text constant text := p_value #>> '{}';
  v_at timestamptz;
begin
  if v_text is null then return null; end if;
  begin
    v_at := date_trunc('milliseconds', v_text::timestamptz);
  exception when others then
    -- Refused below.
  end;
  if jsonb_typeof(p_value) = 'string' and v_at between '1970-01-01Z' and '9999-12-31 23:59:59.999Z' then return v_at; end if;
  perform oncue.refuse('INVALID_INPUT',
    format('options.runAt must be a time between 1970-01-01 and 9999-12-31, not %s', left(p_value::text, 60)),
    'Send it as ISO 8601 with its time zone, such as 2027-01-31T09:00:00Z.');
end $$;
