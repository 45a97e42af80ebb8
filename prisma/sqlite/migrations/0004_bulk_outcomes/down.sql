DROP TABLE "oncue_bulk_batches";
CREATE TABLE "oncue_bulk_operations_old" (
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
  PRIMARY KEY ("id"),
  CONSTRAINT "bulk_operations_action" CHECK ("action" IN ('requeue', 'cancel', 'delete')),
  CONSTRAINT "bulk_operations_status" CHECK ("status" IN ('running', 'completed', 'stopped', 'failed'))
) WITHOUT ROWID;
INSERT INTO "oncue_bulk_operations_old" (
  "id", "action", "filter", "as_of", "spread_ms", "idempotency_key", "status", "total", "total_is_exact", "done",
  "skipped", "position", "step", "error", "actor_id", "actor_name", "actor_kind", "stopped_by", "created", "updated",
  "finished_at")
SELECT
  "id", "action", "filter", "as_of", "spread_ms", "idempotency_key", iif("status" = 'canary', 'stopped', "status"),
  "total", "total_is_exact", "done", "skipped", "position", "step", "error", "actor_id", "actor_name", "actor_kind",
  "stopped_by", "created", "updated", iif("status" = 'canary', "updated", "finished_at")
FROM "oncue_bulk_operations" WHERE "action" <> 'run_now';
DROP TABLE "oncue_bulk_operations";
ALTER TABLE "oncue_bulk_operations_old" RENAME TO "oncue_bulk_operations";
CREATE UNIQUE INDEX "oncue_bulk_operations_key" ON "oncue_bulk_operations" ("actor_id", "idempotency_key");
CREATE INDEX "oncue_bulk_operations_created" ON "oncue_bulk_operations" ("created", "id");
CREATE INDEX "oncue_bulk_operations_running" ON "oncue_bulk_operations" ("id") WHERE "status" = 'running';
