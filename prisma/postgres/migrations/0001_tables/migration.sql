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
  concurrency_limit smallint,
  cancel_at       timestamptz(3),
  parent_id       uuid,
  cursor          json,
  progress        json,
  last_error      json,
  fingerprint     text,
  trace           text,
  meta            jsonb,
  unique_scope    text,
  replaced_by     uuid,
  constraint jobs_pkey primary key (id),
  constraint jobs_state check (
    case status
      when 'processing' then locked_until is not null and locked_by is not null and visible_at is not null
      when 'pending' then locked_until is null and locked_by is null
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

-- What lists are read by, as in history. Enqueues pay for it, claims do not. The condition is true of every
-- job, and said by lists alone: it keeps a planner that believes the table to be small from looking jobs up
-- by their id in this index, where that means to walk all of it.
create index jobs_listed on oncue.jobs (topic, created, id) where topic <> '';

-- Jobs with a concurrency key: those that can be claimed or run, and those that are throttled (or blocked), in the
-- order in which they get a slot. A job is in one of the two, so that neither is walked in search of the others.
-- Queue by queue, so that the jobs of one are not walked in search of those of another.
create index jobs_keyed on oncue.jobs (concurrency_key, queue, visible_at)
  where concurrency_key is not null and visible_at is not null;
create index jobs_throttled on oncue.jobs (concurrency_key, queue, priority desc, run_at, id)
  where concurrency_key is not null and visible_at is null;

-- Live jobs whose last run failed, by its fingerprint. Plain jobs are in neither index, and no claim changes one of
-- these columns. The first one has the groups: which there are, how many jobs are in each, and when the next
-- is tried. The second one has the jobs of a group in the order of lists.
create index jobs_failing on oncue.jobs (fingerprint, queue, topic, run_at) where fingerprint is not null;
create index jobs_failing_listed on oncue.jobs (fingerprint, created, id) where fingerprint is not null;

create table oncue.history (
  id              uuid not null,
  run_at          timestamptz(3),
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
  concurrency_limit smallint,
  parent_id       uuid,
  cursor          json,
  progress        json,
  last_error      json,
  fingerprint     text,
  trace           text,
  meta            jsonb,
  unique_scope    text,
  constraint history_pkey primary key (id),
  constraint history_finished_status check (status in ('completed', 'failed', 'cancelled'))
);

-- What lists are read by: merged over the few topics and queues that there are, it serves every filter.
-- Each further index would cost every completion about 80 bytes of WAL. Of the queue it has one byte of
-- its hash, which fits into the gap before created: the queue itself would cost 8 bytes of WAL a job.
-- Those that did not complete are few and looked at most, so theirs may be wider.
create index history_completed on oncue.history (topic, ((hashtext(queue) >> 24)::"char"), created, id)
  where status = 'completed';
create index history_unsuccessful on oncue.history (topic, status, queue, created, id) where status <> 'completed';
create index history_unsuccessful_id on oncue.history (id, status) where status <> 'completed';
create index history_failed on oncue.history (finished_at, fingerprint) where status = 'failed';
create index history_fingerprint on oncue.history (fingerprint, created, id) where status = 'failed';
create index history_recovered on oncue.history (fingerprint, finished_at)
  where fingerprint is not null and status <> 'failed';

create table oncue.payloads (
  job_id uuid not null,
  part   text not null,
  data   json not null,
  constraint payloads_pkey primary key (job_id, part),
  constraint payloads_part check (part in ('payload', 'result')),
  constraint payloads_size check (octet_length(data::text) <= 1048576)
);

-- Who has which value in its meta, in the order of lists. Written when the job is, and not when it ends:
-- the place of a job in a list never changes. Jobs without meta have no rows here.
create table oncue.job_meta (
  key     text not null,
  value   text not null,
  created timestamptz(3) not null,
  job_id  uuid not null,
  constraint job_meta_pkey primary key (key, value, created, job_id)
);

-- Cut off where an index could refuse them: a lookup of a longer one compares the job's meta too.
create function oncue.meta_entries(p_meta jsonb) returns table (key text, value text)
  language sql immutable parallel safe
begin atomic
  select left(e.key, 200), left(e.value::text, 200) from jsonb_each(p_meta) as e
  where jsonb_typeof(e.value) in ('string', 'number', 'boolean');
end;

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

create table oncue.worker_ends (
  id          uuid not null,
  host        text not null,
  pid         integer not null,
  queues      jsonb not null,
  concurrency integer not null,
  version     text not null,
  started_at  timestamptz(3) not null,
  last_beat   timestamptz(3) not null,
  ended_at    timestamptz(3) not null,
  how         text not null,
  released    integer not null,
  failed      integer not null,
  runs        json not null,
  constraint worker_ends_pkey primary key (id),
  constraint worker_ends_how check (how in ('stopped', 'lost'))
);
create index worker_ends_at on oncue.worker_ends (ended_at, id);

create table oncue.leaders (
  name    text not null,
  held_by text not null,
  until   timestamptz(3) not null,
  constraint leaders_pkey primary key (name)
);

-- `u:…` unique keys, `i:…` idempotency keys, `o:…` those of jobs that Oncue makes itself. An empty topic: all
-- topics share the key.
create table oncue.keys (
  topic  text not null,
  key    text not null,
  job_id uuid not null,
  until  timestamptz(3),
  constraint keys_pkey primary key (topic, key)
);
create index keys_job on oncue.keys (job_id);

create table oncue.deps (
  job_id    uuid not null,
  parent_id uuid not null,
  policy    text not null,
  checked   boolean not null default false,
  constraint deps_pkey primary key (job_id, parent_id),
  constraint deps_policy check (policy in ('wait', 'stop', 'go_on', 'cancel'))
);
create index deps_parent on oncue.deps (parent_id);
create index deps_unchecked on oncue.deps (parent_id) where not checked;

create table oncue.events (
  job_id  uuid not null,
  version integer not null,
  type    text not null,
  data    json,
  created timestamptz(3) not null,
  constraint events_pkey primary key (job_id, version),
  constraint events_version check (version > 0)
);

create table oncue.slots (
  key         text not null,
  max_running integer,
  rate_count  integer,
  rate_ms     integer,
  starts      jsonb,
  waiting     boolean not null default false,
  since       timestamptz(3),
  constraint slots_pkey primary key (key),
  constraint slots_limits check (max_running >= 0 and rate_count between 1 and 10000 and rate_ms > 0)
) with (fillfactor = 50);
create index slots_waiting on oncue.slots (key) where waiting;

-- Runs of one slot are counted from slots.since on: what lies before are the entries of runs that ended, which
-- a transaction left open anywhere keeps vacuum from removing.
create table oncue.slot_runs (
  key    text not null,
  job_id uuid not null,
  run    integer not null,
  taken  timestamptz(3) not null,
  until  timestamptz(3) not null,
  constraint slot_runs_pkey primary key (job_id, key)
);
create index slot_runs_key on oncue.slot_runs (key, taken);

create table oncue.queues (
  name      text not null,
  paused_at timestamptz(3),
  paused_by text,
  ageing_ms integer,
  paused_until timestamptz(3),
  constraint queues_pkey primary key (name),
  constraint queues_ageing check (ageing_ms > 0)
);

create table oncue.topics (
  topic     text not null,
  input     json not null,
  output    json not null,
  policy    json not null,
  announced timestamptz(3) not null,
  constraint topics_pkey primary key (topic)
);

create table oncue.announcements (
  worker    uuid not null,
  service   text not null,
  schemas   json not null,
  announced timestamptz(3) not null,
  constraint announcements_pkey primary key (worker)
);

create table oncue.schedules (
  name      text not null,
  cron      text not null,
  timezone  text not null,
  topic     text not null,
  payload   json not null,
  options   json not null,
  missed    text not null,
  source    text not null,
  service   text,
  next_at   timestamptz(3),
  last_at   timestamptz(3),
  paused_at timestamptz(3),
  paused_by text,
  created   timestamptz(3) not null,
  updated   timestamptz(3) not null,
  constraint schedules_pkey primary key (name),
  constraint schedules_missed check (missed in ('skip', 'one', 'all')),
  constraint schedules_source check (source in ('code', 'database'))
);

create table oncue.stat_deltas (
  id        uuid not null,
  minute    timestamptz(3) not null,
  queue     text not null,
  topic     text not null,
  completed integer not null,
  failed    integer not null,
  cancelled integer not null,
  retried   integer not null default 0,
  waits     text not null,
  runs      text not null,
  run_ms    bigint not null,
  constraint stat_deltas_pkey primary key (id)
);

create table oncue.stats (
  minute    timestamptz(3) not null,
  queue     text not null,
  topic     text not null,
  completed integer not null,
  failed    integer not null,
  cancelled integer not null,
  retried   integer not null default 0,
  waits     json not null,
  runs      json not null,
  constraint stats_pkey primary key (minute, queue, topic)
);

create table oncue.totals (
  queue     text not null,
  topic     text not null,
  completed integer not null,
  failed    integer not null,
  cancelled integer not null,
  runs      bigint not null,
  run_ms    bigint not null,
  constraint totals_pkey primary key (queue, topic)
);

create table oncue.tokens (
  id             uuid not null,
  kind           text not null,
  name           text not null,
  role           text not null,
  hash           text not null,
  allowed_topics json,
  allowed_queues json,
  parent_id      uuid,
  created        timestamptz(3) not null,
  created_by     text,
  expires_at     timestamptz(3),
  idle_until     timestamptz(3),
  last_used      timestamptz(3),
  revoked_at     timestamptz(3),
  constraint tokens_pkey primary key (id),
  constraint tokens_kind check (kind in ('token', 'session', 'device')),
  constraint tokens_role check (role in ('producer', 'viewer', 'operator', 'admin')),
  constraint tokens_hash_length check (length(hash) = 64)
);
create unique index tokens_hash on oncue.tokens (hash);
create index tokens_parent on oncue.tokens (parent_id);

create table oncue.audit (
  id         uuid not null,
  at         timestamptz(3) not null,
  actor_id   text not null,
  actor_name text not null,
  actor_kind text not null,
  action     text not null,
  target     json,
  count      integer,
  ip         text,
  user_agent text,
  request_id text,
  constraint audit_pkey primary key (id)
);
create index audit_at on oncue.audit (at, id);

create table oncue.settings (
  key        text not null,
  value      json not null,
  updated    timestamptz(3) not null,
  updated_by text,
  constraint settings_pkey primary key (key)
);

-- The functions that builds of Oncue have installed: each calls only its own set, whose names end in its hash.
create table oncue.function_sets (
  hash         text not null,
  release      text not null,
  needs        text not null,
  installed_at timestamptz(3) not null,
  last_seen    timestamptz(3) not null,
  constraint function_sets_pkey primary key (hash)
);
