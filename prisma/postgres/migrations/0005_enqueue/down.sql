drop function oncue.prune_v1;
drop function oncue.delete_v1;
drop function oncue.forget_v1;
drop function oncue.cancel_v1;
drop function oncue.requeue_v1;
drop function oncue.link_v1;
drop function oncue.take_key_v1;
drop function oncue.enqueue_keyed_v1;
