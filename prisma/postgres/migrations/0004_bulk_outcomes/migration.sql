-- What became of the jobs of a bulk operation, a canary before the rest, and the action run_now.
-- needs: 0002_on_call

alter table oncue.bulk_operations
  add column canary            json,
  add column stop_when_failing double precision,
  add column outcomes          json,
  -- Whether an API process still has something to do for it. Rows of older code are closed by newer code.
  add column is_open           boolean not null default true,
  drop constraint bulk_operations_action,
  drop constraint bulk_operations_status,
  add constraint bulk_operations_action check (action in ('requeue', 'run_now', 'cancel', 'delete')),
  add constraint bulk_operations_status check (status in ('canary', 'running', 'completed', 'stopped', 'failed'));
update oncue.bulk_operations set is_open = false where status <> 'running';
create index bulk_operations_open on oncue.bulk_operations (id) where is_open;

-- The jobs of one batch, in one row: with a row for each job, a batch would write a third more.
create table oncue.bulk_batches (
  operation_id uuid not null,
  step         integer not null,
  -- [[id, failures when it was touched, outcome, whether that can still change], …]
  jobs         json not null,
  -- How many of them can still change.
  open         integer not null,
  constraint bulk_batches_pkey primary key (operation_id, step)
);
-- A look at 100,000 jobs, of which most have ended, reads the others alone.
create index bulk_batches_open on oncue.bulk_batches (operation_id, step) where open > 0;
