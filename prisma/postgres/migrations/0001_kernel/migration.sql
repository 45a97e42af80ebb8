-- Times are milliseconds, truncated and never rounded up: a rounded-up run_at would lie in
-- the future when the wake-up arrives.
create function oncue.clock() returns timestamptz
  language sql volatile parallel safe
  return date_trunc('milliseconds', clock_timestamp());

create type oncue."Status" as enum ('blocked', 'pending', 'processing', 'completed', 'failed', 'cancelled');

-- The columns that a claim changes stand side by side, so that the WAL record of its heap-only
-- update carries one short run of bytes. None of them may ever be indexed.
create table oncue.jobs (
  id              uuid not null,
  run_at          timestamptz(3) not null,
  visible_at      timestamptz(3),
  created         timestamptz(3) not null,
  updated         timestamptz(3) not null,
  locked_until    timestamptz(3),
  started_at      timestamptz(3),
  locked_by       uuid,
  status          oncue."Status" not null,
  run             integer not null default 0,
  timeout_ms      integer not null,
  deps_left       integer not null default 0,
  priority        smallint not null,
  retries         smallint not null default 0,
  max_retries     smallint not null,
  crashes         smallint not null default 0,
  queue           text not null,
  topic           text not null,
  payload         json,
  retry           json,
  unique_key      text,
  concurrency_key text,
  parent_id       uuid,
  cursor          json,
  progress        json,
  last_error      json,
  fingerprint     text,
  trace           text,
  meta            jsonb,
  constraint jobs_pkey primary key (id),
  constraint jobs_state check (
    case status
      when 'processing' then locked_until is not null and locked_by is not null and visible_at is not null
      when 'pending' then locked_until is null and locked_by is null and visible_at is not null
      when 'blocked' then locked_until is null and locked_by is null and visible_at is null
      else false
    end
  ),
  constraint jobs_names check (length(topic) between 1 and 128 and length(queue) between 1 and 128),
  constraint jobs_inline check (octet_length(payload::text) <= 2048)
) with (
  -- More than half of each page is left for the new versions of claimed rows, which are a little
  -- longer than the old ones (locked_by and the times are null before the claim).
  fillfactor = 45,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  -- Giving pages back takes an exclusive lock, for pages that the next burst needs again.
  vacuum_truncate = false
);

create index jobs_ready on oncue.jobs (queue, priority desc, visible_at, id) where visible_at is not null;

create table oncue.history (
  id              uuid not null,
  run_at          timestamptz(3) not null,
  created         timestamptz(3) not null,
  started_at      timestamptz(3),
  finished_at     timestamptz(3) not null,
  locked_by       uuid,
  status          oncue."Status" not null,
  run             integer not null,
  timeout_ms      integer not null,
  priority        smallint not null,
  retries         smallint not null,
  max_retries     smallint not null,
  crashes         smallint not null,
  queue           text not null,
  topic           text not null,
  payload         json,
  result          json,
  retry           json,
  unique_key      text,
  concurrency_key text,
  parent_id       uuid,
  cursor          json,
  progress        json,
  last_error      json,
  fingerprint     text,
  trace           text,
  meta            jsonb,
  constraint history_pkey primary key (id),
  constraint history_finished_status check (status in ('completed', 'failed', 'cancelled'))
);

create index history_finished on oncue.history (finished_at);

create table oncue.payloads (
  job_id uuid not null,
  part   text not null,
  data   json not null,
  constraint payloads_pkey primary key (job_id, part),
  constraint payloads_part check (part in ('payload', 'result')),
  constraint payloads_size check (octet_length(data::text) <= 1048576)
);

create table oncue.workers (
  id            uuid not null,
  host          text not null,
  pid           integer not null,
  queues        jsonb not null,
  concurrency   integer not null,
  version       text not null,
  presence      text,
  missing_since timestamptz(3),
  started_at    timestamptz(3) not null,
  last_beat     timestamptz(3) not null,
  constraint workers_pkey primary key (id)
);
