import { defineJobs, job } from 'oncue'
import { z } from 'zod'

const order = z.object({ orderId: z.string() })
const money = { amount: z.number(), currency: z.string() }

/** What a shop of some size does all day. */
export const jobs = defineJobs({
  send_receipt: job({
    input: order.extend({ to: z.email(), ...money }),
    output: z.object({ messageId: z.string() }),
    queue: 'mail',
  }),
  send_newsletter: job({ input: z.object({ issue: z.string(), to: z.email() }), queue: 'mail' }),

  // No retries, so that no customer is charged twice: a person decides.
  capture_payment: job({
    input: order.extend(money),
    output: z.object({ captureId: z.string() }),
    ...{ queue: 'payments', priority: 10, retry: false },
  }),
  check_fraud: job({ input: order, output: z.object({ score: z.number() }), queue: 'payments' }),

  deliver_webhook: job({
    input: z.object({ endpoint: z.url(), event: z.string(), orderId: z.string() }),
    queue: 'webhooks',
    retry: { max: 2, strategy: 'fixed', baseDelay: 15_000 },
  }),

  transcode_video: job({
    input: z.object({ videoId: z.string(), file: z.string(), minutes: z.number() }),
    output: z.object({ renditions: z.array(z.string()) }),
    queue: 'media',
  }),

  pack_order: job({ input: order, queue: 'orders' }),
  print_label: job({ input: order, output: z.object({ tracking: z.string() }), queue: 'orders' }),
  notify_courier: job({ input: order, queue: 'orders' }),

  reindex_category: job({ input: z.object({ category: z.string() }), queue: 'search', retry: false }),
  index_product: job({ input: z.object({ sku: z.string() }), queue: 'search' }),
  swap_index: job({ input: z.object({ category: z.string() }), queue: 'search' }),

  export_ledger: job({
    input: z.object({ account: z.string(), month: z.string() }),
    output: z.object({ rows: z.number() }),
    queue: 'reports',
    retry: false,
  }),
})

/** Scheduled jobs. Separate from the others, because the simulated past has no schedules. */
export const schedules = defineJobs({
  sync_exchange_rates: job({ input: z.object({}), queue: 'reports', cron: '*/5 * * * *' }),
  close_books: job({
    input: z.object({}),
    ...{ queue: 'reports', cron: '30 2 * * *', timezone: 'Europe/Berlin' },
  }),
})
