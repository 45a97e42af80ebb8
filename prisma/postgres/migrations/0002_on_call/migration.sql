-- What people on call need beside the jobs: bulk operations, alerts and where they are sent, devices, and how
-- full everything was minute by minute.

create table oncue.bulk_operations (
  id              uuid not null,
  action          text not null,
  filter          json not null,
  filter_error    json,
  as_of           timestamptz(3) not null,
  spread_ms       integer not null,
  idempotency_key text,
  status          text not null,
  total           integer not null,
  total_is_exact  boolean not null,
  done            integer not null,
  skipped         json not null,
  position        json,
  step            integer not null,
  error           json,
  actor_id        text not null,
  actor_name      text not null,
  actor_kind      text not null,
  stopped_by      text,
  created         timestamptz(3) not null,
  updated         timestamptz(3) not null,
  finished_at     timestamptz(3),
  canary          json,
  stop_when_failing double precision,
  outcomes        json,
  is_open         boolean not null default true,
  constraint bulk_operations_pkey primary key (id),
  constraint bulk_operations_action check (action in ('requeue', 'run_now', 'cancel', 'delete')),
  constraint bulk_operations_status check (status in ('canary', 'running', 'completed', 'stopped', 'failed'))
);
create unique index bulk_operations_key on oncue.bulk_operations (actor_id, idempotency_key);
create index bulk_operations_created on oncue.bulk_operations (created, id);
create index bulk_operations_running on oncue.bulk_operations (id) where status = 'running';
create index bulk_operations_open on oncue.bulk_operations (id) where is_open;

-- The jobs of one batch, in one row: with a row for each job, a batch would write a third more.
create table oncue.bulk_batches (
  operation_id uuid not null,
  step         integer not null,
  jobs         json not null,
  open         integer not null,
  constraint bulk_batches_pkey primary key (operation_id, step)
);
-- A look at 100,000 jobs, of which most have ended, reads the others alone.
create index bulk_batches_open on oncue.bulk_batches (operation_id, step) where open > 0;

create table oncue.alert_rules (
  id         uuid not null,
  name       text not null,
  kind       text not null,
  queue      text,
  threshold  double precision not null,
  for_ms     integer not null,
  enabled    boolean not null,
  built_in   text,
  created    timestamptz(3) not null,
  updated    timestamptz(3) not null,
  updated_by text,
  topic      text,
  constraint alert_rules_pkey primary key (id),
  constraint alert_rules_kind check
    (kind in ('oldest_waiting', 'failure_rate', 'no_workers', 'stalled', 'paused', 'new_error', 'topic_failure_rate'))
);
create unique index alert_rules_built_in on oncue.alert_rules (built_in);

create table oncue.alerts (
  id            uuid not null,
  rule_id       uuid not null,
  kind          text not null,
  subject       text not null,
  status        text not null,
  value         double precision not null,
  threshold     double precision not null,
  summary       text not null,
  held_for      json not null,
  since         timestamptz(3) not null,
  fired_at      timestamptz(3),
  calm_since    timestamptz(3),
  acked_at      timestamptz(3),
  acked_by      text,
  snoozed_until timestamptz(3),
  snoozed_by    text,
  resolved_at   timestamptz(3),
  transitions   integer not null,
  notified      integer not null,
  looked_at     timestamptz(3) not null,
  updated       timestamptz(3) not null,
  topic         text,
  fingerprint   text,
  group_id      uuid,
  told_at       timestamptz(3),
  constraint alerts_pkey primary key (id),
  constraint alerts_status check (status in ('pending', 'firing', 'resolved'))
);
create unique index alerts_open on oncue.alerts (rule_id) where status <> 'resolved';
create index alerts_fired on oncue.alerts (fired_at, id);
create index alerts_untold on oncue.alerts (id) where notified < transitions;

create table oncue.channels (
  id             uuid not null,
  kind           text not null,
  name           text not null,
  address        text not null,
  secret         text,
  token_id       uuid,
  enabled        boolean not null,
  created        timestamptz(3) not null,
  created_by     text,
  last_attempt   timestamptz(3),
  last_delivered timestamptz(3),
  last_error     text,
  failing_since  timestamptz(3),
  options        json,
  constraint channels_pkey primary key (id),
  constraint channels_kind check
    (kind in ('webhook', 'slack', 'ntfy', 'pagerduty', 'opsgenie', 'email', 'push', 'web_push'))
);
create unique index channels_token on oncue.channels (token_id);

create table oncue.pairings (
  id             uuid not null,
  code_hash      text not null,
  role           text not null,
  allowed_topics json,
  allowed_queues json,
  maker_id       uuid,
  device_until   timestamptz(3),
  created        timestamptz(3) not null,
  created_by     text not null,
  expires_at     timestamptz(3) not null,
  used_at        timestamptz(3),
  device_id      uuid,
  constraint pairings_pkey primary key (id),
  constraint pairings_role check (role in ('viewer', 'operator', 'admin'))
);
create unique index pairings_code on oncue.pairings (code_hash);

create table oncue.gauges (
  minute    timestamptz(3) not null,
  queue     text not null,
  waiting   integer not null,
  running   integer not null,
  oldest_ms bigint not null,
  workers   integer not null,
  slots     integer not null,
  constraint gauges_pkey primary key (minute, queue)
);
