drop function oncue.settle_and_claim_v1;
drop function oncue.claim_v1;
drop function oncue.aged_levels_v1;
drop function oncue.hold_back_v1;
drop function oncue.free_overdue_v1;
drop function oncue.take_slots_v1;
drop function oncue.room_v1;
