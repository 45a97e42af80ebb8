CREATE TYPE "OrderStatus" AS ENUM ('open', 'paid', 'expired');

CREATE TABLE "Order" (
    "id" TEXT NOT NULL,
    "total" INTEGER NOT NULL,
    "status" "OrderStatus" NOT NULL DEFAULT 'open',
    "paidAt" TIMESTAMP(3),
    "jobId" UUID,

    CONSTRAINT "Order_pkey" PRIMARY KEY ("id")
);
