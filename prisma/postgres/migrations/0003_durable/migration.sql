-- Jobs that wait outside of their worker: what they wait for, what their next run may rely on, and signals on their way.
-- Code that does not know these tables would repeat finished steps, so it cannot work beside them.

alter table oncue.jobs add column waits json;
alter table oncue.jobs add column ending json;

create table oncue.outcomes (
  job_id  uuid not null,
  key     text not null,
  seq     integer not null,
  kind    text not null,
  name    text,
  data    json,
  created timestamptz(3) not null,
  constraint outcomes_pkey primary key (job_id, key),
  constraint outcomes_kind check (kind in ('step', 'step_failed', 'timer', 'signal', 'timeout', 'wait', 'answer', 'refused', 'since', 'spawn', 'children', 'undo', 'undone'))
);
create unique index outcomes_seq on oncue.outcomes (job_id, seq);

create table oncue.signals (
  job_id  uuid not null,
  id      uuid not null,
  name    text not null,
  key     text,
  data    json,
  created timestamptz(3) not null,
  constraint signals_pkey primary key (job_id, id)
);

create table oncue.asks (
  job_id   uuid not null,
  name     text not null,
  question text not null,
  schema   json not null,
  role     text not null,
  until    timestamptz(3),
  refused  text,
  created  timestamptz(3) not null,
  closed   timestamptz(3),
  constraint asks_pkey primary key (job_id, name)
);
-- Of all questions that were ever asked, few are open.
create index asks_open on oncue.asks (created, job_id) where closed is null;

-- The jobs that a run has spawned, by the key of the call. Kept as long as the parent.
create table oncue.children (
  parent_id uuid not null,
  key       text not null,
  child_id  uuid not null,
  cancels   boolean not null default true,
  orphaned  boolean not null default false,
  constraint children_pkey primary key (parent_id, key)
);
create index children_child on oncue.children (child_id);
create index children_orphaned on oncue.children (parent_id) where orphaned;

-- Children that have not ended and for which a suspended parent waits.
create table oncue.child_waits (
  child_id  uuid not null,
  parent_id uuid not null,
  wait      text not null,
  constraint child_waits_pkey primary key (child_id, parent_id, wait)
);
create index child_waits_parent on oncue.child_waits (parent_id, wait);

-- The jobs of batches and flows, with what each waits for: edges in deps last until the parent has ended. Kept as long as the job.
create table oncue.flow_places (
  flow_id  uuid not null,
  place    integer not null,
  job_id   uuid not null,
  kind     text not null,
  name     text,
  after    json,
  constraint flow_places_pkey primary key (flow_id, place),
  constraint flow_places_kind check (kind in ('job', 'then', 'on_failure', 'node'))
);
create index flow_places_job on oncue.flow_places (job_id);
create index flow_places_waiting on oncue.flow_places (flow_id) where after is not null;
