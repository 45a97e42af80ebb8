drop function oncue.rescue_v1;
drop function oncue.heartbeat_v1;
drop function oncue.settle_and_claim_v1;
drop function oncue.settle_v1;
drop function oncue.claim_v1;
drop type oncue.work_row_v1;
drop function oncue.crash_v1;
drop function oncue.crash_error_v1;
