-- Times are integers: milliseconds since 1970, always written explicitly. Three spellings of a
-- time (ISO text, integer, CURRENT_TIMESTAMP) do not sort together, and such a job is never claimed.
-- CHECKs say CASE or `=` and `OR`: for an `IN` SQLite builds a table at every write (measured: 1.3 µs).
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
  "parent_id"       TEXT,
  "cursor"          JSONB,
  "progress"        JSONB,
  "last_error"      JSONB,
  "fingerprint"     TEXT,
  "trace"           TEXT,
  "meta"            JSONB,
  CONSTRAINT "jobs_state" CHECK (
    CASE "status"
      WHEN 'processing' THEN "locked_until" IS NOT NULL AND "locked_by" IS NOT NULL AND "visible_at" IS NOT NULL
      WHEN 'pending' THEN "locked_until" IS NULL AND "locked_by" IS NULL AND "visible_at" IS NOT NULL
      WHEN 'blocked' THEN "locked_until" IS NULL AND "locked_by" IS NULL AND "visible_at" IS NULL
      ELSE 0
    END
  ),
  CONSTRAINT "jobs_times" CHECK (typeof("run_at") = 'integer' AND (typeof("visible_at") = 'integer' OR "visible_at" IS NULL)),
  CONSTRAINT "jobs_priority" CHECK ("priority" BETWEEN -32768 AND 32767),
  CONSTRAINT "jobs_names" CHECK (length("topic") BETWEEN 1 AND 128 AND length("queue") BETWEEN 1 AND 128),
  CONSTRAINT "jobs_inline" CHECK (octet_length("payload") <= 2048),
  CONSTRAINT "jobs_json" CHECK (json_valid("payload"))
) WITHOUT ROWID;

CREATE INDEX "oncue_jobs_ready" ON "oncue_jobs" ("queue", "priority" DESC, "visible_at", "id") WHERE "visible_at" IS NOT NULL;

CREATE TABLE "oncue_history" (
  "id"              TEXT NOT NULL PRIMARY KEY,
  "run_at"          DATETIME NOT NULL,
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
  "parent_id"       TEXT,
  "cursor"          JSONB,
  "progress"        JSONB,
  "last_error"      JSONB,
  "fingerprint"     TEXT,
  "trace"           TEXT,
  "meta"            JSONB,
  CONSTRAINT "history_finished_status" CHECK ("status" = 'completed' OR "status" = 'failed' OR "status" = 'cancelled'),
  CONSTRAINT "history_json" CHECK (json_valid("result"))
) WITHOUT ROWID;

CREATE INDEX "oncue_history_finished" ON "oncue_history" ("finished_at");

CREATE TABLE "oncue_payloads" (
  "job_id" TEXT NOT NULL,
  "part"   TEXT NOT NULL,
  "data"   JSONB NOT NULL,
  PRIMARY KEY ("job_id", "part"),
  CONSTRAINT "payloads_part" CHECK ("part" IN ('payload', 'result')),
  CONSTRAINT "payloads_size" CHECK (octet_length("data") <= 1048576),
  CONSTRAINT "payloads_json" CHECK (json_valid("data"))
);

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
