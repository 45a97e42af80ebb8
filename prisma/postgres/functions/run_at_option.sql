-- planner: none
-- A time, truncated to milliseconds, or null where the option is absent or null.
create function oncue.run_at_option(p_value jsonb) returns timestamptz
  language plpgsql
as $$
declare
  v_text constant text := p_value #>> '{}';
  v_at timestamptz;
begin
  if v_text is null then return null; end if;
  -- Postgres would also accept now, tomorrow, and dates in the order of the session's DateStyle.
  if v_text ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$' then
    begin
      v_at := date_trunc('milliseconds', v_text::timestamptz);
    exception when data_exception then
      -- Such as February 30: refused below.
    end;
  end if;
  if v_at between '1970-01-01Z' and '9999-12-31 23:59:59.999Z' then return v_at; end if;
  perform oncue.refuse('INVALID_INPUT',
    format('options.runAt must be an ISO 8601 time with Z or an offset, between 1970-01-01 and 9999-12-31, not %s', left(p_value::text, 60)),
    'Send it as 2027-01-31T09:00:00Z or 2027-01-31T09:00:00+01:00.');
end $$;
