ALTER TABLE "oncue_queues" DROP COLUMN "paused_until";
