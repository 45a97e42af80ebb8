drop function oncue.lock_dependants_v1;
drop function oncue.tend_slots_v1;
drop function oncue.tend_v1;
drop function oncue.is_untended_v1;
drop function oncue.rescue_v1;
drop function oncue.note_v1;
drop function oncue.heartbeat_v1;
