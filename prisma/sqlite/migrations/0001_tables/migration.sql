-- Times are integers: milliseconds since 1970, always written explicitly. Three spellings of a
-- time (ISO text, integer, CURRENT_TIMESTAMP) do not sort together, and such a job is never claimed.
-- Ids are the clustering key (WITHOUT ROWID): one tree per table fewer to write.

CREATE TABLE "oncue_jobs" (
  "id"              TEXT NOT NULL PRIMARY KEY,
  "run_at"          DATETIME NOT NULL,
  "visible_at"      DATETIME,
  "created"         DATETIME NOT NULL,
  "updated"         DATETIME NOT NULL,
  "locked_until"    DATETIME,
  "started_at"      DATETIME,
  "locked_by"       TEXT,
  "status"          TEXT NOT NULL,
  "run"             INTEGER NOT NULL DEFAULT 0,
  "timeout_ms"      INTEGER NOT NULL,
  "deps_left"       INTEGER NOT NULL DEFAULT 0,
  "priority"        INTEGER NOT NULL,
  "retries"         INTEGER NOT NULL DEFAULT 0,
  "max_retries"     INTEGER NOT NULL,
  "crashes"         INTEGER NOT NULL DEFAULT 0,
  "queue"           TEXT NOT NULL,
  "topic"           TEXT NOT NULL,
  "payload"         JSONB,
  "retry"           JSONB,
  "unique_key"      TEXT,
  "concurrency_key" TEXT,
  "concurrency_limit" INTEGER,
  "cancel_at"       DATETIME,
  "parent_id"       TEXT,
  "cursor"          JSONB,
  "progress"        JSONB,
  "last_error"      JSONB,
  "fingerprint"     TEXT,
  "trace"           TEXT,
  "meta"            JSONB,
  "unique_scope"    TEXT,
  "replaced_by"     TEXT,
  -- Comparisons one by one, here and below: a list (x IN (…)) costs every write about a microsecond.
  CONSTRAINT "jobs_state" CHECK (
    CASE "status"
      WHEN 'processing' THEN "locked_until" IS NOT NULL AND "locked_by" IS NOT NULL AND "visible_at" IS NOT NULL
      WHEN 'pending' THEN "locked_until" IS NULL AND "locked_by" IS NULL
      WHEN 'blocked' THEN "locked_until" IS NULL AND "locked_by" IS NULL AND "visible_at" IS NULL
      ELSE 0
    END
  ),
  CONSTRAINT "jobs_times" CHECK (typeof("run_at") = 'integer' AND ("visible_at" IS NULL OR typeof("visible_at") = 'integer')),
  CONSTRAINT "jobs_priority" CHECK ("priority" BETWEEN -32768 AND 32767),
  CONSTRAINT "jobs_names" CHECK (length("topic") BETWEEN 1 AND 128 AND length("queue") BETWEEN 1 AND 128),
  CONSTRAINT "jobs_inline" CHECK (octet_length("payload") <= 2048),
  CONSTRAINT "jobs_json" CHECK (json_valid("payload"))
) WITHOUT ROWID;

CREATE INDEX "oncue_jobs_ready" ON "oncue_jobs" ("queue", "priority" DESC, "visible_at", "id") WHERE "visible_at" IS NOT NULL;
CREATE INDEX "oncue_jobs_listed" ON "oncue_jobs" ("topic", "created", "id") WHERE "topic" <> '';
CREATE INDEX "oncue_jobs_keyed" ON "oncue_jobs" ("concurrency_key", "queue", "visible_at") WHERE (("concurrency_key" IS NOT NULL) AND ("visible_at" IS NOT NULL));
CREATE INDEX "oncue_jobs_throttled" ON "oncue_jobs" ("concurrency_key", "queue", "priority" DESC, "run_at", "id") WHERE (("concurrency_key" IS NOT NULL) AND ("visible_at" IS NULL));

CREATE INDEX "oncue_jobs_failing" ON "oncue_jobs" ("fingerprint", "queue", "topic", "run_at") WHERE "fingerprint" IS NOT NULL;
CREATE INDEX "oncue_jobs_failing_listed" ON "oncue_jobs" ("fingerprint", "created", "id") WHERE "fingerprint" IS NOT NULL;

CREATE TABLE "oncue_history" (
  "id"              TEXT NOT NULL PRIMARY KEY,
  "run_at"          DATETIME,
  "created"         DATETIME NOT NULL,
  "started_at"      DATETIME,
  "finished_at"     DATETIME NOT NULL,
  "locked_by"       TEXT,
  "status"          TEXT NOT NULL,
  "run"             INTEGER NOT NULL,
  "timeout_ms"      INTEGER NOT NULL,
  "priority"        INTEGER NOT NULL,
  "retries"         INTEGER NOT NULL,
  "max_retries"     INTEGER NOT NULL,
  "crashes"         INTEGER NOT NULL,
  "queue"           TEXT NOT NULL,
  "topic"           TEXT NOT NULL,
  "payload"         JSONB,
  "result"          JSONB,
  "retry"           JSONB,
  "unique_key"      TEXT,
  "concurrency_key" TEXT,
  "concurrency_limit" INTEGER,
  "parent_id"       TEXT,
  "cursor"          JSONB,
  "progress"        JSONB,
  "last_error"      JSONB,
  "fingerprint"     TEXT,
  "trace"           TEXT,
  "meta"            JSONB,
  "unique_scope"    TEXT,
  CONSTRAINT "history_finished_status" CHECK ("status" = 'completed' OR "status" = 'failed' OR "status" = 'cancelled'),
  CONSTRAINT "history_json" CHECK (json_valid("result"))
) WITHOUT ROWID;

CREATE INDEX "oncue_history_completed" ON "oncue_history" ("topic", "queue", "created", "id") WHERE "status" = 'completed';
CREATE INDEX "oncue_history_unsuccessful" ON "oncue_history" ("topic", "status", "queue", "created", "id") WHERE "status" <> 'completed';
CREATE INDEX "oncue_history_unsuccessful_id" ON "oncue_history" ("id", "status") WHERE "status" <> 'completed';
CREATE INDEX "oncue_history_failed" ON "oncue_history" ("finished_at", "fingerprint") WHERE "status" = 'failed';
CREATE INDEX "oncue_history_fingerprint" ON "oncue_history" ("fingerprint", "created", "id") WHERE "status" = 'failed';
CREATE INDEX "oncue_history_recovered" ON "oncue_history" ("fingerprint", "finished_at") WHERE (("fingerprint" IS NOT NULL) AND ("status" <> 'failed'));

CREATE TABLE "oncue_payloads" (
  "job_id" TEXT NOT NULL,
  "part"   TEXT NOT NULL,
  "data"   JSONB NOT NULL,
  PRIMARY KEY ("job_id", "part"),
  CONSTRAINT "payloads_part" CHECK ("part" = 'payload' OR "part" = 'result'),
  CONSTRAINT "payloads_size" CHECK (octet_length("data") <= 1048576),
  CONSTRAINT "payloads_json" CHECK (json_valid("data"))
);

CREATE TABLE "oncue_job_meta" (
  "key"     TEXT NOT NULL,
  "value"   TEXT NOT NULL,
  "created" DATETIME NOT NULL,
  "job_id"  TEXT NOT NULL,
  PRIMARY KEY ("key", "value", "created", "job_id")
) WITHOUT ROWID;

CREATE TABLE "oncue_workers" (
  "id"            TEXT NOT NULL PRIMARY KEY,
  "host"          TEXT NOT NULL,
  "pid"           INTEGER NOT NULL,
  "queues"        JSONB NOT NULL,
  "concurrency"   INTEGER NOT NULL,
  "version"       TEXT NOT NULL,
  "presence"      TEXT,
  "missing_since" DATETIME,
  "started_at"    DATETIME NOT NULL,
  "last_beat"     DATETIME NOT NULL
);

CREATE TABLE "oncue_worker_ends" (
  "id"          TEXT NOT NULL PRIMARY KEY,
  "host"        TEXT NOT NULL,
  "pid"         INTEGER NOT NULL,
  "queues"      JSONB NOT NULL,
  "concurrency" INTEGER NOT NULL,
  "version"     TEXT NOT NULL,
  "started_at"  DATETIME NOT NULL,
  "last_beat"   DATETIME NOT NULL,
  "ended_at"    DATETIME NOT NULL,
  "how"         TEXT NOT NULL,
  "released"    INTEGER NOT NULL,
  "failed"      INTEGER NOT NULL,
  "runs"        JSONB NOT NULL,
  CONSTRAINT "worker_ends_how" CHECK ("how" IN ('stopped', 'lost'))
);
CREATE INDEX "oncue_worker_ends_at" ON "oncue_worker_ends" ("ended_at", "id");

CREATE TABLE "oncue_leaders" (
  "name"    TEXT NOT NULL PRIMARY KEY,
  "held_by" TEXT NOT NULL,
  "until"   DATETIME NOT NULL
);

CREATE TABLE "oncue_keys" (
  "topic"  TEXT NOT NULL,
  "key"    TEXT NOT NULL,
  "job_id" TEXT NOT NULL,
  "until"  DATETIME,
  PRIMARY KEY ("topic", "key")
) WITHOUT ROWID;
CREATE INDEX "oncue_keys_job" ON "oncue_keys" ("job_id");

CREATE TABLE "oncue_deps" (
  "job_id"    TEXT NOT NULL,
  "parent_id" TEXT NOT NULL,
  "policy"    TEXT NOT NULL,
  "checked"   BOOLEAN NOT NULL DEFAULT false,
  PRIMARY KEY ("job_id", "parent_id"),
  CONSTRAINT "deps_policy" CHECK ("policy" = 'wait' OR "policy" = 'stop' OR "policy" = 'go_on' OR "policy" = 'cancel')
) WITHOUT ROWID;
CREATE INDEX "oncue_deps_parent" ON "oncue_deps" ("parent_id");
CREATE INDEX "oncue_deps_unchecked" ON "oncue_deps" ("parent_id") WHERE NOT "checked";

CREATE TABLE "oncue_events" (
  "job_id"  TEXT NOT NULL,
  "version" INTEGER NOT NULL,
  "type"    TEXT NOT NULL,
  "data"    JSONB,
  "created" DATETIME NOT NULL,
  PRIMARY KEY ("job_id", "version"),
  CONSTRAINT "events_version" CHECK ("version" > 0),
  CONSTRAINT "events_json" CHECK (json_valid("data"))
) WITHOUT ROWID;

CREATE TABLE "oncue_slots" (
  "key"         TEXT NOT NULL PRIMARY KEY,
  "max_running" INTEGER,
  "rate_count"  INTEGER,
  "rate_ms"     INTEGER,
  "starts"      JSONB,
  "waiting"     BOOLEAN NOT NULL DEFAULT false,
  "since"       DATETIME,
  CONSTRAINT "slots_limits" CHECK ("max_running" >= 0 AND "rate_count" BETWEEN 1 AND 10000 AND "rate_ms" > 0)
) WITHOUT ROWID;
CREATE INDEX "oncue_slots_waiting" ON "oncue_slots" ("key") WHERE "waiting";

CREATE TABLE "oncue_slot_runs" (
  "key"    TEXT NOT NULL,
  "job_id" TEXT NOT NULL,
  "run"    INTEGER NOT NULL,
  "taken"  DATETIME NOT NULL,
  "until"  DATETIME NOT NULL,
  PRIMARY KEY ("job_id", "key")
) WITHOUT ROWID;
CREATE INDEX "oncue_slot_runs_key" ON "oncue_slot_runs" ("key", "taken");

CREATE TABLE "oncue_queues" (
  "name"      TEXT NOT NULL PRIMARY KEY,
  "paused_at" DATETIME,
  "paused_by" TEXT,
  "ageing_ms" INTEGER,
  "paused_until" DATETIME,
  CONSTRAINT "queues_ageing" CHECK ("ageing_ms" > 0)
) WITHOUT ROWID;

CREATE TABLE "oncue_topics" (
  "topic"     TEXT NOT NULL PRIMARY KEY,
  "input"     JSONB NOT NULL,
  "output"    JSONB NOT NULL,
  "policy"    JSONB NOT NULL,
  "announced" DATETIME NOT NULL
);

CREATE TABLE "oncue_announcements" (
  "worker"    TEXT NOT NULL PRIMARY KEY,
  "service"   TEXT NOT NULL,
  "schemas"   JSONB NOT NULL,
  "announced" DATETIME NOT NULL
);

CREATE TABLE "oncue_schedules" (
  "name"      TEXT NOT NULL PRIMARY KEY,
  "cron"      TEXT NOT NULL,
  "timezone"  TEXT NOT NULL,
  "topic"     TEXT NOT NULL,
  "payload"   JSONB NOT NULL,
  "options"   JSONB NOT NULL,
  "missed"    TEXT NOT NULL,
  "source"    TEXT NOT NULL,
  "service"   TEXT,
  "next_at"   DATETIME,
  "last_at"   DATETIME,
  "paused_at" DATETIME,
  "paused_by" TEXT,
  "created"   DATETIME NOT NULL,
  "updated"   DATETIME NOT NULL,
  CONSTRAINT "schedules_missed" CHECK ("missed" IN ('skip', 'one', 'all')),
  CONSTRAINT "schedules_source" CHECK ("source" IN ('code', 'database'))
);

CREATE TABLE "oncue_stat_deltas" (
  "id"        TEXT NOT NULL PRIMARY KEY,
  "minute"    DATETIME NOT NULL,
  "queue"     TEXT NOT NULL,
  "topic"     TEXT NOT NULL,
  "completed" INTEGER NOT NULL,
  "failed"    INTEGER NOT NULL,
  "cancelled" INTEGER NOT NULL,
  "retried"   INTEGER NOT NULL DEFAULT 0,
  "waits"     TEXT NOT NULL,
  "runs"      TEXT NOT NULL,
  "run_ms"    BIGINT NOT NULL
);

CREATE TABLE "oncue_stats" (
  "minute"    DATETIME NOT NULL,
  "queue"     TEXT NOT NULL,
  "topic"     TEXT NOT NULL,
  "completed" INTEGER NOT NULL,
  "failed"    INTEGER NOT NULL,
  "cancelled" INTEGER NOT NULL,
  "retried"   INTEGER NOT NULL DEFAULT 0,
  "waits"     JSONB NOT NULL,
  "runs"      JSONB NOT NULL,
  PRIMARY KEY ("minute", "queue", "topic")
) WITHOUT ROWID;

CREATE TABLE "oncue_totals" (
  "queue"     TEXT NOT NULL,
  "topic"     TEXT NOT NULL,
  "completed" INTEGER NOT NULL,
  "failed"    INTEGER NOT NULL,
  "cancelled" INTEGER NOT NULL,
  "runs"      BIGINT NOT NULL,
  "run_ms"    BIGINT NOT NULL,
  PRIMARY KEY ("queue", "topic")
) WITHOUT ROWID;

CREATE TABLE "oncue_tokens" (
  "id"             TEXT NOT NULL PRIMARY KEY,
  "kind"           TEXT NOT NULL,
  "name"           TEXT NOT NULL,
  "role"           TEXT NOT NULL,
  "hash"           TEXT NOT NULL,
  "allowed_topics" JSONB,
  "allowed_queues" JSONB,
  "parent_id"      TEXT,
  "created"        DATETIME NOT NULL,
  "created_by"     TEXT,
  "expires_at"     DATETIME,
  "idle_until"     DATETIME,
  "last_used"      DATETIME,
  "revoked_at"     DATETIME,
  CONSTRAINT "tokens_kind" CHECK ("kind" IN ('token', 'session', 'device')),
  CONSTRAINT "tokens_role" CHECK ("role" IN ('producer', 'viewer', 'operator', 'admin')),
  CONSTRAINT "tokens_hash_length" CHECK (length("hash") = 64)
);
CREATE UNIQUE INDEX "oncue_tokens_hash" ON "oncue_tokens" ("hash");
CREATE INDEX "oncue_tokens_parent" ON "oncue_tokens" ("parent_id");

CREATE TABLE "oncue_audit" (
  "id"         TEXT NOT NULL PRIMARY KEY,
  "at"         DATETIME NOT NULL,
  "actor_id"   TEXT NOT NULL,
  "actor_name" TEXT NOT NULL,
  "actor_kind" TEXT NOT NULL,
  "action"     TEXT NOT NULL,
  "target"     JSONB,
  "count"      INTEGER,
  "ip"         TEXT,
  "user_agent" TEXT,
  "request_id" TEXT
) WITHOUT ROWID;
CREATE INDEX "oncue_audit_at" ON "oncue_audit" ("at", "id");

CREATE TABLE "oncue_settings" (
  "key"        TEXT NOT NULL PRIMARY KEY,
  "value"      JSONB NOT NULL,
  "updated"    DATETIME NOT NULL,
  "updated_by" TEXT
) WITHOUT ROWID;
