-- planner: none
-- The bucket of a duration as one letter: half powers of two, from 0 ms to beyond four hours.
-- The same as bucketOf() in packages/db/src/portable/stats.ts. (date_part, because extract gives a numeric,
-- which is slow; 0.693… is ln 2.)
create function oncue.bucket(p_duration interval) returns text
  language sql immutable parallel safe
  return chr(48 + least(47, floor(2 * ln(1 + greatest(0, date_part('epoch', p_duration) * 1000)) / 0.6931471805599453))::integer);
