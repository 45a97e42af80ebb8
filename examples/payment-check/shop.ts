import type { JobStatus, Queue, Store } from 'oncue'
import type { Order, PrismaClient } from './generated/client.ts'
import type { jobs } from './jobs.ts'

const QUARTER_OF_AN_HOUR_MS = 15 * 60_000

export class Shop {
  readonly #prisma: PrismaClient
  readonly #queue: Queue<typeof jobs>

  constructor(prisma: PrismaClient, queue: Queue<typeof jobs>) {
    this.#prisma = prisma
    this.#queue = queue
  }

  /** The order, its job, and the link between them: all or nothing. */
  placeOrder(total: number, payWithinMs = QUARTER_OF_AN_HOUR_MS): Promise<Order> {
    return this.#prisma.$transaction(async (tx) => {
      const { id } = await tx.order.create({ data: { total } })
      const jobId = await this.#queue.enqueue(
        'check_payment',
        { orderId: id },
        { tx, delay: payWithinMs, meta: { order: id } },
      )
      if (total <= 0) throw new Error('an order costs something')
      return tx.order.update({ where: { id }, data: { jobId } })
    })
  }

  async pay(id: string): Promise<void> {
    await this.#prisma.order.update({ where: { id }, data: { paidAt: new Date() } })
  }

  /** Idempotent: a second run decides the same. */
  async settle(id: string): Promise<'paid' | 'expired'> {
    const { paidAt } = await this.#prisma.order.findUniqueOrThrow({ where: { id } })
    const status = paidAt ? 'paid' : 'expired'
    await this.#prisma.order.update({ where: { id }, data: { status } })
    return status
  }

  /** What a page about an order shows: its state, and that of its job. */
  async look(id: string, store: Store): Promise<{ order: Order['status']; job: JobStatus | 'pruned' }> {
    const { status, jobId } = await this.#prisma.order.findUniqueOrThrow({ where: { id } })
    const job = jobId ? await store.get(jobId) : null
    return { order: status, job: job?.status ?? 'pruned' }
  }
}
