delete from oncue.channels where kind not in ('webhook', 'slack', 'push');
alter table oncue.channels
  drop constraint channels_kind,
  drop column options,
  add constraint channels_kind check (kind in ('webhook', 'slack', 'push'));

delete from oncue.alerts where kind in ('new_error', 'topic_failure_rate');
alter table oncue.alerts
  drop column told_at,
  drop column group_id,
  drop column fingerprint,
  drop column topic;

delete from oncue.alert_rules where kind in ('new_error', 'topic_failure_rate');
alter table oncue.alert_rules
  drop constraint alert_rules_kind,
  drop column topic,
  add constraint alert_rules_kind check
    (kind in ('oldest_waiting', 'failure_rate', 'no_workers', 'stalled', 'paused'));
