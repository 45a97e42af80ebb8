-- Jobs that are being undone have ended, and must not run again from the start: they are blocked until a person cancels them.
UPDATE "oncue_jobs" SET "status" = 'blocked', "visible_at" = NULL, "deps_left" = 1, "waits" = NULL,
  "updated" = CAST(unixepoch('subsec') * 1000 AS INTEGER), "locked_until" = NULL, "locked_by" = NULL, "started_at" = NULL
WHERE "ending" ->> 'status' IS NOT NULL;
-- Suspended jobs would wait for ever: code that does not know waits runs them again from the start.
UPDATE "oncue_jobs" SET "status" = 'pending', "run_at" = t."now", "visible_at" = t."now", "updated" = t."now"
FROM (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS "now") AS t
WHERE "waits" IS NOT NULL
  AND ("status" = 'blocked' AND "deps_left" = 0 OR "status" = 'pending' AND "visible_at" > t."now");

DROP TABLE "oncue_flow_places";
DROP TABLE "oncue_asks";
DROP TABLE "oncue_child_waits";
DROP TABLE "oncue_children";
DROP TABLE "oncue_signals";
DROP TABLE "oncue_outcomes";
ALTER TABLE "oncue_jobs" DROP COLUMN "waits";
ALTER TABLE "oncue_jobs" DROP COLUMN "ending";
