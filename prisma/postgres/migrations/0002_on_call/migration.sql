-- What people on call need beside the jobs: bulk operations, alerts and where they are sent, devices, and how
-- full everything was minute by minute.

create table oncue.bulk_operations (
  id              uuid not null,
  action          text not null,
  filter          json not null,
  as_of           timestamptz(3) not null,
  spread_ms       integer not null,
  idempotency_key text,
  status          text not null,
  total           integer not null,
  total_is_exact  boolean not null,
  done            integer not null,
  skipped         json not null,
  -- Where the walk stands; and how many batches it took: who writes the next one must have seen this one.
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
  constraint bulk_operations_pkey primary key (id),
  constraint bulk_operations_action check (action in ('requeue', 'cancel', 'delete')),
  constraint bulk_operations_status check (status in ('running', 'completed', 'stopped', 'failed'))
);
create unique index bulk_operations_key on oncue.bulk_operations (actor_id, idempotency_key);
create index bulk_operations_created on oncue.bulk_operations (created, id);
create index bulk_operations_running on oncue.bulk_operations (id) where status = 'running';

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
  constraint alert_rules_pkey primary key (id),
  constraint alert_rules_kind check
    (kind in ('oldest_waiting', 'failure_rate', 'no_workers', 'stalled', 'paused'))
);
create unique index alert_rules_built_in on oncue.alert_rules (built_in);

-- A row is one episode: from the first moment that a condition holds until it is resolved. A subject is the
-- name of a queue, or empty for the whole.
create table oncue.alerts (
  id            uuid not null,
  rule_id       uuid not null,
  kind          text not null,
  subject       text not null,
  status        text not null,
  value         double precision not null,
  threshold     double precision not null,
  summary       text not null,
  -- The queues for which it held when it was last seen without an ack.
  held_for      json not null,
  since         timestamptz(3) not null,
  fired_at      timestamptz(3),
  calm_since    timestamptz(3),
  acked_at      timestamptz(3),
  acked_by      text,
  snoozed_until timestamptz(3),
  snoozed_by    text,
  resolved_at   timestamptz(3),
  -- How often there was something to tell: it fired, fired again, was resolved; and how much of it was handed over.
  transitions   integer not null,
  notified      integer not null,
  -- When its condition was last looked at: time in which nobody looked does not count.
  looked_at     timestamptz(3) not null,
  updated       timestamptz(3) not null,
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
  -- Where to: a URL, or the push token of a device.
  address        text not null,
  -- Signs what is sent, so it is needed as it is.
  secret         text,
  -- The device that a push channel belongs to: it ends with it.
  token_id       uuid,
  enabled        boolean not null,
  created        timestamptz(3) not null,
  created_by     text,
  last_attempt   timestamptz(3),
  last_delivered timestamptz(3),
  last_error     text,
  failing_since  timestamptz(3),
  constraint channels_pkey primary key (id),
  constraint channels_kind check (kind in ('webhook', 'slack', 'push'))
);
create unique index channels_token on oncue.channels (token_id);

create table oncue.pairings (
  id             uuid not null,
  code_hash      text not null,
  role           text not null,
  allowed_topics json,
  allowed_queues json,
  -- The token that made it: the code and its device end with it. Null: made beside the API, or by a JWT.
  maker_id       uuid,
  -- The end of the JWT that made it, and of its device.
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

-- How full a queue was, once a minute; '' is the whole.
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
