-- needs: 0002_on_call
-- Live jobs whose last run failed, by its fingerprint. Plain jobs are in neither index, and no claim changes one of
-- these columns. The first one has the groups: which there are, how many jobs are in each, and when the next
-- is tried. The second one has the jobs of a group in the order of lists.
create index jobs_failing on oncue.jobs (fingerprint, queue, topic, run_at) where fingerprint is not null;
create index jobs_failing_listed on oncue.jobs (fingerprint, created, id) where fingerprint is not null;
