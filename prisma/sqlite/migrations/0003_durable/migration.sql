-- Jobs that wait outside of their worker: what they wait for, what their next run may rely on, and signals on their way.
-- Code that does not know these tables would repeat finished steps, so it cannot work beside them.

ALTER TABLE "oncue_jobs" ADD COLUMN "waits" JSONB;
ALTER TABLE "oncue_jobs" ADD COLUMN "ending" JSONB;

CREATE TABLE "oncue_outcomes" (
  "job_id"  TEXT NOT NULL,
  "key"     TEXT NOT NULL,
  "seq"     INTEGER NOT NULL,
  "kind"    TEXT NOT NULL,
  "name"    TEXT,
  "data"    JSONB,
  "created" DATETIME NOT NULL,
  PRIMARY KEY ("job_id", "key"),
  CONSTRAINT "outcomes_kind" CHECK ("kind" IN ('step', 'step_failed', 'timer', 'signal', 'timeout', 'wait', 'answer', 'refused', 'since', 'spawn', 'children', 'undo', 'undone'))
);
CREATE UNIQUE INDEX "oncue_outcomes_seq" ON "oncue_outcomes" ("job_id", "seq");

-- Empty on this database: a sender is the only writer, and delivers its signal itself.
CREATE TABLE "oncue_signals" (
  "job_id"  TEXT NOT NULL,
  "id"      TEXT NOT NULL,
  "name"    TEXT NOT NULL,
  "key"     TEXT,
  "data"    JSONB,
  "created" DATETIME NOT NULL,
  PRIMARY KEY ("job_id", "id")
);

CREATE TABLE "oncue_asks" (
  "job_id"   TEXT NOT NULL,
  "name"     TEXT NOT NULL,
  "question" TEXT NOT NULL,
  "schema"   JSONB NOT NULL,
  "role"     TEXT NOT NULL,
  "until"    DATETIME,
  "refused"  TEXT,
  "created"  DATETIME NOT NULL,
  "closed"   DATETIME,
  PRIMARY KEY ("job_id", "name")
);
-- Of all questions that were ever asked, few are open.
CREATE INDEX "oncue_asks_open" ON "oncue_asks" ("created", "job_id") WHERE "closed" IS NULL;

-- The jobs that a run has spawned, by the key of the call. Kept as long as the parent.
CREATE TABLE "oncue_children" (
  "parent_id" TEXT NOT NULL,
  "key"       TEXT NOT NULL,
  "child_id"  TEXT NOT NULL,
  "cancels"   BOOLEAN NOT NULL DEFAULT true,
  "orphaned"  BOOLEAN NOT NULL DEFAULT false,
  PRIMARY KEY ("parent_id", "key")
);
CREATE INDEX "oncue_children_child" ON "oncue_children" ("child_id");
CREATE INDEX "oncue_children_orphaned" ON "oncue_children" ("parent_id") WHERE "orphaned";

-- Children that have not ended and for which a suspended parent waits.
CREATE TABLE "oncue_child_waits" (
  "child_id"  TEXT NOT NULL,
  "parent_id" TEXT NOT NULL,
  "wait"      TEXT NOT NULL,
  PRIMARY KEY ("child_id", "parent_id", "wait")
);
CREATE INDEX "oncue_child_waits_parent" ON "oncue_child_waits" ("parent_id", "wait");

-- The jobs of batches and flows, with what each waits for: edges in deps last until the parent has ended. Kept as long as the job.
CREATE TABLE "oncue_flow_places" (
  "flow_id"  TEXT NOT NULL,
  "place"    INTEGER NOT NULL,
  "job_id"   TEXT NOT NULL,
  "kind"     TEXT NOT NULL,
  "name"     TEXT,
  "after"    JSONB,
  PRIMARY KEY ("flow_id", "place"),
  CONSTRAINT "flow_places_kind" CHECK ("kind" IN ('job', 'then', 'on_failure', 'node'))
);
CREATE INDEX "oncue_flow_places_job" ON "oncue_flow_places" ("job_id");
CREATE INDEX "oncue_flow_places_waiting" ON "oncue_flow_places" ("flow_id") WHERE "after" IS NOT NULL;
