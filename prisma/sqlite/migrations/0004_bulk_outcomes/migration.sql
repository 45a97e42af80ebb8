-- What became of the jobs of a bulk operation, a canary before the rest, and the action run_now.
-- needs: 0002_on_call

-- SQLite cannot change a check, so the table is copied.
CREATE TABLE "oncue_bulk_operations_new" (
  "id"              TEXT NOT NULL,
  "action"          TEXT NOT NULL,
  "filter"          JSONB NOT NULL,
  "as_of"           DATETIME NOT NULL,
  "spread_ms"       INTEGER NOT NULL,
  "idempotency_key" TEXT,
  "status"          TEXT NOT NULL,
  "total"           INTEGER NOT NULL,
  "total_is_exact"  BOOLEAN NOT NULL,
  "done"            INTEGER NOT NULL,
  "skipped"         JSONB NOT NULL,
  -- Where the walk stands; and how many batches it took: who writes the next one must have seen this one.
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
  "canary"            JSONB,
  "stop_when_failing" REAL,
  "outcomes"          JSONB,
  -- Whether an API process still has something to do for it. Rows of older code are closed by newer code.
  "is_open"           BOOLEAN NOT NULL DEFAULT true,
  PRIMARY KEY ("id"),
  CONSTRAINT "bulk_operations_action" CHECK ("action" IN ('requeue', 'run_now', 'cancel', 'delete')),
  CONSTRAINT "bulk_operations_status" CHECK ("status" IN ('canary', 'running', 'completed', 'stopped', 'failed'))
) WITHOUT ROWID;
INSERT INTO "oncue_bulk_operations_new" (
  "id", "action", "filter", "as_of", "spread_ms", "idempotency_key", "status", "total", "total_is_exact", "done",
  "skipped", "position", "step", "error", "actor_id", "actor_name", "actor_kind", "stopped_by", "created", "updated",
  "finished_at", "is_open")
SELECT
  "id", "action", "filter", "as_of", "spread_ms", "idempotency_key", "status", "total", "total_is_exact", "done",
  "skipped", "position", "step", "error", "actor_id", "actor_name", "actor_kind", "stopped_by", "created", "updated",
  "finished_at", "status" = 'running'
FROM "oncue_bulk_operations";
DROP TABLE "oncue_bulk_operations";
ALTER TABLE "oncue_bulk_operations_new" RENAME TO "oncue_bulk_operations";
CREATE UNIQUE INDEX "oncue_bulk_operations_key" ON "oncue_bulk_operations" ("actor_id", "idempotency_key");
CREATE INDEX "oncue_bulk_operations_created" ON "oncue_bulk_operations" ("created", "id");
CREATE INDEX "oncue_bulk_operations_running" ON "oncue_bulk_operations" ("id") WHERE "status" = 'running';
CREATE INDEX "oncue_bulk_operations_open" ON "oncue_bulk_operations" ("id") WHERE "is_open";

-- The jobs of one batch, in one row: with a row for each job, a batch would write a third more.
CREATE TABLE "oncue_bulk_batches" (
  "operation_id" TEXT NOT NULL,
  "step"         INTEGER NOT NULL,
  -- [[id, failures when it was touched, outcome, whether that can still change], …]
  "jobs"         JSONB NOT NULL,
  -- How many of them can still change.
  "open"         INTEGER NOT NULL,
  PRIMARY KEY ("operation_id", "step")
) WITHOUT ROWID;
-- A look at 100,000 jobs, of which most have ended, reads the others alone.
CREATE INDEX "oncue_bulk_batches_open" ON "oncue_bulk_batches" ("operation_id", "step") WHERE "open" > 0;
