-- needs: 0002_on_call
-- Alerts of one cause form a group, which is announced as one. Rules about one topic and about new errors, and more
-- kinds of channels.

alter table oncue.alert_rules
  drop constraint alert_rules_kind,
  add column topic text,
  add constraint alert_rules_kind check
    (kind in ('oldest_waiting', 'failure_rate', 'no_workers', 'stalled', 'paused', 'new_error', 'topic_failure_rate'));

alter table oncue.alerts
  add column topic text,
  add column fingerprint text,
  add column group_id uuid,
  -- When its last transition was handed over: messages per minute are limited.
  add column told_at timestamptz(3);

alter table oncue.channels
  drop constraint channels_kind,
  add column options json,
  add constraint channels_kind check
    (kind in ('webhook', 'slack', 'ntfy', 'pagerduty', 'opsgenie', 'email', 'push', 'web_push'));
