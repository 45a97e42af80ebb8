-- planner: none
-- A time as events have it, whatever the TimeZone of the session: the same as Date.toISOString().
create function oncue.iso_time(p_time timestamptz) returns text
  language sql immutable parallel safe
  return to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
