drop index oncue.jobs_failing_listed;
drop index oncue.jobs_failing;
