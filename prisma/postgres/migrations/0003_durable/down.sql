-- Jobs that are being undone have ended, and must not run again from the start: they are blocked until a person cancels them.
update oncue.jobs set status = 'blocked', visible_at = null, deps_left = 1, waits = null, updated = oncue.clock(),
  locked_until = null, locked_by = null, started_at = null
where ending ->> 'status' is not null;
-- Suspended jobs would wait for ever: code that does not know waits runs them again from the start.
update oncue.jobs set status = 'pending', run_at = oncue.clock(), visible_at = oncue.clock(), updated = oncue.clock()
where waits is not null and (status = 'blocked' and deps_left = 0 or status = 'pending' and visible_at > oncue.clock());

drop table oncue.flow_places;
drop table oncue.asks;
drop table oncue.child_waits;
drop table oncue.children;
drop table oncue.signals;
drop table oncue.outcomes;
alter table oncue.jobs drop column waits;
alter table oncue.jobs drop column ending;
