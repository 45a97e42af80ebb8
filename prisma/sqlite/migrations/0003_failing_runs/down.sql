DROP INDEX "oncue_jobs_failing_listed";
DROP INDEX "oncue_jobs_failing";
