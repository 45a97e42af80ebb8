drop table oncue.worker_ends;
