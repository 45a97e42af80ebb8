drop table oncue.workers;
drop table oncue.payloads;
drop table oncue.history;
drop table oncue.jobs;
drop type oncue."Status";
drop function oncue.clock();
