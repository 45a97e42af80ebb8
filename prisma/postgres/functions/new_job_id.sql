-- planner: none
-- A UUID v7: the time, and the random bits of a UUID v4.
create function oncue.new_job_id(p_now timestamptz) returns uuid
  language sql volatile
begin atomic
  select (left(t.hex, 8) || '-' || right(t.hex, 4) || '-7' || substr(gen_random_uuid()::text, 16))::uuid
  from (select lpad(to_hex((extract(epoch from p_now) * 1000)::bigint), 12, '0') as hex) t;
end;
