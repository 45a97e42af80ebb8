-- needs: 0002_on_call
-- A pause that ends by itself. Older code takes such a queue for paused until it is resumed.

alter table oncue.queues add column paused_until timestamptz(3);
