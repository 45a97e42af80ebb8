-- Workers that stopped or were found dead, and what they held.
-- needs: 0002_on_call

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
  -- [{id, queue, topic, run, outcome}, …], the first 100
  "runs"        JSONB NOT NULL,
  CONSTRAINT "worker_ends_how" CHECK ("how" IN ('stopped', 'lost'))
);
CREATE INDEX "oncue_worker_ends_at" ON "oncue_worker_ends" ("ended_at", "id");
