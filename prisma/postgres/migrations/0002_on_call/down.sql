drop table oncue.gauges;
drop table oncue.pairings;
drop table oncue.channels;
drop table oncue.alerts;
drop table oncue.alert_rules;
drop table oncue.bulk_batches;
drop table oncue.bulk_operations;
