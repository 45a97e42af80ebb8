DROP TABLE "oncue_worker_ends";
