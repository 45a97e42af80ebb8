-- needs: 0002_on_call
-- Alerts of one cause form a group, which is announced as one. Rules about one topic and about new errors, and more
-- kinds of channels. A check cannot be changed, so its table is made anew.

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
  "topic"      TEXT,
  PRIMARY KEY ("id"),
  CONSTRAINT "alert_rules_kind" CHECK
    ("kind" IN ('oldest_waiting', 'failure_rate', 'no_workers', 'stalled', 'paused', 'new_error', 'topic_failure_rate'))
) WITHOUT ROWID;
INSERT INTO "oncue_alert_rules" ("id", "name", "kind", "queue", "threshold", "for_ms", "enabled", "built_in", "created", "updated", "updated_by")
  SELECT "id", "name", "kind", "queue", "threshold", "for_ms", "enabled", "built_in", "created", "updated", "updated_by" FROM "oncue_alert_rules_old";
DROP TABLE "oncue_alert_rules_old";
CREATE UNIQUE INDEX "oncue_alert_rules_built_in" ON "oncue_alert_rules" ("built_in");

ALTER TABLE "oncue_alerts" ADD COLUMN "topic" TEXT;
ALTER TABLE "oncue_alerts" ADD COLUMN "fingerprint" TEXT;
ALTER TABLE "oncue_alerts" ADD COLUMN "group_id" TEXT;
-- When its last transition was handed over: messages per minute are limited.
ALTER TABLE "oncue_alerts" ADD COLUMN "told_at" DATETIME;

ALTER TABLE "oncue_channels" RENAME TO "oncue_channels_old";
DROP INDEX "oncue_channels_token";
CREATE TABLE "oncue_channels" (
  "id"             TEXT NOT NULL,
  "kind"           TEXT NOT NULL,
  "name"           TEXT NOT NULL,
  -- Where to: a URL, an e-mail address, or the push token of a device.
  "address"        TEXT NOT NULL,
  -- Signs or encrypts what is sent, or is the key of a service: needed as it is.
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
  "options"        JSONB,
  PRIMARY KEY ("id"),
  CONSTRAINT "channels_kind" CHECK
    ("kind" IN ('webhook', 'slack', 'ntfy', 'pagerduty', 'opsgenie', 'email', 'push', 'web_push'))
) WITHOUT ROWID;
INSERT INTO "oncue_channels" ("id", "kind", "name", "address", "secret", "token_id", "enabled", "created", "created_by",
  "last_attempt", "last_delivered", "last_error", "failing_since")
  SELECT "id", "kind", "name", "address", "secret", "token_id", "enabled", "created", "created_by",
  "last_attempt", "last_delivered", "last_error", "failing_since" FROM "oncue_channels_old";
DROP TABLE "oncue_channels_old";
CREATE UNIQUE INDEX "oncue_channels_token" ON "oncue_channels" ("token_id");
