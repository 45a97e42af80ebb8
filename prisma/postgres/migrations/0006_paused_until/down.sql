alter table oncue.queues drop column paused_until;
