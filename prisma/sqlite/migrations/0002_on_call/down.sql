DROP TABLE "oncue_gauges";
DROP TABLE "oncue_pairings";
DROP TABLE "oncue_channels";
DROP TABLE "oncue_alerts";
DROP TABLE "oncue_alert_rules";
DROP TABLE "oncue_bulk_batches";
DROP TABLE "oncue_bulk_operations";
