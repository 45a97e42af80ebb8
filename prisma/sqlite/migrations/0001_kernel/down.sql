DROP TABLE "oncue_workers";
DROP TABLE "oncue_payloads";
DROP TABLE "oncue_history";
DROP TABLE "oncue_jobs";
