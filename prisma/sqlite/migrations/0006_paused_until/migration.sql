-- needs: 0002_on_call
-- A pause that ends by itself. Older code takes such a queue for paused until it is resumed.

ALTER TABLE "oncue_queues" ADD COLUMN "paused_until" DATETIME;
