drop table oncue.bulk_batches;
delete from oncue.bulk_operations where action = 'run_now';
update oncue.bulk_operations set status = 'stopped', finished_at = updated where status = 'canary';
drop index oncue.bulk_operations_open;
alter table oncue.bulk_operations
  drop constraint bulk_operations_action,
  drop constraint bulk_operations_status,
  drop column canary,
  drop column stop_when_failing,
  drop column outcomes,
  drop column is_open,
  add constraint bulk_operations_action check (action in ('requeue', 'cancel', 'delete')),
  add constraint bulk_operations_status check (status in ('running', 'completed', 'stopped', 'failed'));
