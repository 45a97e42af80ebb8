ALTER TABLE "oncue_channels" DROP COLUMN "options";
ALTER TABLE "oncue_channels" RENAME TO "oncue_channels_old";
DROP INDEX "oncue_channels_token";
CREATE TABLE "oncue_channels" (
  "id"             TEXT NOT NULL,
  "kind"           TEXT NOT NULL,
  "name"           TEXT NOT NULL,
  -- Where to: a URL, or the push token of a device.
  "address"        TEXT NOT NULL,
  -- Signs what is sent, so it is needed as it is.
  "secret"         TEXT,
  -- The device that a push channel belongs to: it ends with it.
  "token_id"       TEXT,
  "enabled"        BOOLEAN NOT NULL,
  "created"        DATETIME NOT NULL,
  "created_by"     TEXT,
  "last_attempt"   DATETIME,
  "last_delivered" DATETIME,
  "last_error"     TEXT,
  "failing_since"  DATETIME,
  PRIMARY KEY ("id"),
  CONSTRAINT "channels_kind" CHECK ("kind" IN ('webhook', 'slack', 'push'))
) WITHOUT ROWID;
INSERT INTO "oncue_channels" ("id", "kind", "name", "address", "secret", "token_id", "enabled", "created", "created_by",
  "last_attempt", "last_delivered", "last_error", "failing_since")
  SELECT "id", "kind", "name", "address", "secret", "token_id", "enabled", "created", "created_by",
  "last_attempt", "last_delivered", "last_error", "failing_since" FROM "oncue_channels_old"
  WHERE "kind" IN ('webhook', 'slack', 'push');
DROP TABLE "oncue_channels_old";
CREATE UNIQUE INDEX "oncue_channels_token" ON "oncue_channels" ("token_id");

DELETE FROM "oncue_alerts" WHERE "kind" IN ('new_error', 'topic_failure_rate');
ALTER TABLE "oncue_alerts" DROP COLUMN "told_at";
ALTER TABLE "oncue_alerts" DROP COLUMN "group_id";
ALTER TABLE "oncue_alerts" DROP COLUMN "fingerprint";
ALTER TABLE "oncue_alerts" DROP COLUMN "topic";

ALTER TABLE "oncue_alert_rules" DROP COLUMN "topic";
ALTER TABLE "oncue_alert_rules" RENAME TO "oncue_alert_rules_old";
DROP INDEX "oncue_alert_rules_built_in";
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
  PRIMARY KEY ("id"),
  CONSTRAINT "alert_rules_kind" CHECK
    ("kind" IN ('oldest_waiting', 'failure_rate', 'no_workers', 'stalled', 'paused'))
) WITHOUT ROWID;
INSERT INTO "oncue_alert_rules" ("id", "name", "kind", "queue", "threshold", "for_ms", "enabled", "built_in", "created", "updated", "updated_by")
  SELECT "id", "name", "kind", "queue", "threshold", "for_ms", "enabled", "built_in", "created", "updated", "updated_by" FROM "oncue_alert_rules_old"
  WHERE "kind" NOT IN ('new_error', 'topic_failure_rate');
DROP TABLE "oncue_alert_rules_old";
CREATE UNIQUE INDEX "oncue_alert_rules_built_in" ON "oncue_alert_rules" ("built_in");
