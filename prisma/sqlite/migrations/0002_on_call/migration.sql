-- What people on call need beside the jobs: bulk operations, alerts and where they are sent, devices, and how
-- full everything was minute by minute.

CREATE TABLE "oncue_bulk_operations" (
  "id"              TEXT NOT NULL,
  "action"          TEXT NOT NULL,
  "filter"          JSONB NOT NULL,
  "filter_error"    JSONB,
  "as_of"           DATETIME NOT NULL,
  "spread_ms"       INTEGER NOT NULL,
  "idempotency_key" TEXT,
  "status"          TEXT NOT NULL,
  "total"           INTEGER NOT NULL,
  "total_is_exact"  BOOLEAN NOT NULL,
  "done"            INTEGER NOT NULL,
  "skipped"         JSONB NOT NULL,
  "position"        JSONB,
  "step"            INTEGER NOT NULL,
  "error"           JSONB,
  "actor_id"        TEXT NOT NULL,
  "actor_name"      TEXT NOT NULL,
  "actor_kind"      TEXT NOT NULL,
  "stopped_by"      TEXT,
  "created"         DATETIME NOT NULL,
  "updated"         DATETIME NOT NULL,
  "finished_at"     DATETIME,
  "canary"          JSONB,
  "stop_when_failing" REAL,
  "outcomes"        JSONB,
  "is_open"         BOOLEAN NOT NULL DEFAULT true,
  PRIMARY KEY ("id"),
  CONSTRAINT "bulk_operations_action" CHECK ("action" IN ('requeue', 'run_now', 'cancel', 'delete')),
  CONSTRAINT "bulk_operations_status" CHECK ("status" IN ('canary', 'running', 'completed', 'stopped', 'failed'))
) WITHOUT ROWID;
CREATE UNIQUE INDEX "oncue_bulk_operations_key" ON "oncue_bulk_operations" ("actor_id", "idempotency_key");
CREATE INDEX "oncue_bulk_operations_created" ON "oncue_bulk_operations" ("created", "id");
CREATE INDEX "oncue_bulk_operations_running" ON "oncue_bulk_operations" ("id") WHERE "status" = 'running';
CREATE INDEX "oncue_bulk_operations_open" ON "oncue_bulk_operations" ("id") WHERE "is_open";

CREATE TABLE "oncue_bulk_batches" (
  "operation_id" TEXT NOT NULL,
  "step"         INTEGER NOT NULL,
  "jobs"         JSONB NOT NULL,
  "open"         INTEGER NOT NULL,
  PRIMARY KEY ("operation_id", "step")
) WITHOUT ROWID;
CREATE INDEX "oncue_bulk_batches_open" ON "oncue_bulk_batches" ("operation_id", "step") WHERE "open" > 0;

CREATE TABLE "oncue_alert_rules" (
  "id"         TEXT NOT NULL,
  "name"       TEXT NOT NULL,
  "kind"       TEXT NOT NULL,
  "queue"      TEXT,
  "threshold"  REAL NOT NULL,
  "for_ms"     INTEGER NOT NULL,
  "enabled"    BOOLEAN NOT NULL,
  "built_in"   TEXT,
  "created"    DATETIME NOT NULL,
  "updated"    DATETIME NOT NULL,
  "updated_by" TEXT,
  "topic"      TEXT,
  PRIMARY KEY ("id"),
  CONSTRAINT "alert_rules_kind" CHECK
    ("kind" IN ('oldest_waiting', 'failure_rate', 'no_workers', 'stalled', 'paused', 'new_error', 'topic_failure_rate'))
) WITHOUT ROWID;
CREATE UNIQUE INDEX "oncue_alert_rules_built_in" ON "oncue_alert_rules" ("built_in");

CREATE TABLE "oncue_alerts" (
  "id"            TEXT NOT NULL,
  "rule_id"       TEXT NOT NULL,
  "kind"          TEXT NOT NULL,
  "subject"       TEXT NOT NULL,
  "status"        TEXT NOT NULL,
  "value"         REAL NOT NULL,
  "threshold"     REAL NOT NULL,
  "summary"       TEXT NOT NULL,
  "held_for"      JSONB NOT NULL,
  "since"         DATETIME NOT NULL,
  "fired_at"      DATETIME,
  "calm_since"    DATETIME,
  "acked_at"      DATETIME,
  "acked_by"      TEXT,
  "snoozed_until" DATETIME,
  "snoozed_by"    TEXT,
  "resolved_at"   DATETIME,
  "transitions"   INTEGER NOT NULL,
  "notified"      INTEGER NOT NULL,
  "looked_at"     DATETIME NOT NULL,
  "updated"       DATETIME NOT NULL,
  "topic"         TEXT,
  "fingerprint"   TEXT,
  "group_id"      TEXT,
  "told_at"       DATETIME,
  PRIMARY KEY ("id"),
  CONSTRAINT "alerts_status" CHECK ("status" IN ('pending', 'firing', 'resolved'))
) WITHOUT ROWID;
CREATE UNIQUE INDEX "oncue_alerts_open" ON "oncue_alerts" ("rule_id") WHERE "status" <> 'resolved';
CREATE INDEX "oncue_alerts_fired" ON "oncue_alerts" ("fired_at", "id");
CREATE INDEX "oncue_alerts_untold" ON "oncue_alerts" ("id") WHERE "notified" < "transitions";

CREATE TABLE "oncue_channels" (
  "id"             TEXT NOT NULL,
  "kind"           TEXT NOT NULL,
  "name"           TEXT NOT NULL,
  "address"        TEXT NOT NULL,
  "secret"         TEXT,
  "token_id"       TEXT,
  "enabled"        BOOLEAN NOT NULL,
  "created"        DATETIME NOT NULL,
  "created_by"     TEXT,
  "last_attempt"   DATETIME,
  "last_delivered" DATETIME,
  "last_error"     TEXT,
  "failing_since"  DATETIME,
  "options"        JSONB,
  PRIMARY KEY ("id"),
  CONSTRAINT "channels_kind" CHECK
    ("kind" IN ('webhook', 'slack', 'ntfy', 'pagerduty', 'opsgenie', 'email', 'push', 'web_push'))
) WITHOUT ROWID;
CREATE UNIQUE INDEX "oncue_channels_token" ON "oncue_channels" ("token_id");

CREATE TABLE "oncue_pairings" (
  "id"             TEXT NOT NULL,
  "code_hash"      TEXT NOT NULL,
  "role"           TEXT NOT NULL,
  "allowed_topics" JSONB,
  "allowed_queues" JSONB,
  "maker_id"       TEXT,
  "device_until"   DATETIME,
  "created"        DATETIME NOT NULL,
  "created_by"     TEXT NOT NULL,
  "expires_at"     DATETIME NOT NULL,
  "used_at"        DATETIME,
  "device_id"      TEXT,
  PRIMARY KEY ("id"),
  CONSTRAINT "pairings_role" CHECK ("role" IN ('viewer', 'operator', 'admin'))
) WITHOUT ROWID;
CREATE UNIQUE INDEX "oncue_pairings_code" ON "oncue_pairings" ("code_hash");

CREATE TABLE "oncue_gauges" (
  "minute"    DATETIME NOT NULL,
  "queue"     TEXT NOT NULL,
  "waiting"   INTEGER NOT NULL,
  "running"   INTEGER NOT NULL,
  "oldest_ms" BIGINT NOT NULL,
  "workers"   INTEGER NOT NULL,
  "slots"     INTEGER NOT NULL,
  PRIMARY KEY ("minute", "queue")
) WITHOUT ROWID;
