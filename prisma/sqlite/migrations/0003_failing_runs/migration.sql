-- needs: 0002_on_call
-- Live jobs whose last run failed, by its fingerprint. Plain jobs are in neither index, and no claim changes one of
-- these columns. The first one has the groups: which there are, how many jobs are in each, and when the next
-- is tried. The second one has the jobs of a group in the order of lists.
CREATE INDEX "oncue_jobs_failing" ON "oncue_jobs" ("fingerprint", "queue", "topic", "run_at") WHERE "fingerprint" IS NOT NULL;
CREATE INDEX "oncue_jobs_failing_listed" ON "oncue_jobs" ("fingerprint", "created", "id") WHERE "fingerprint" IS NOT NULL;
