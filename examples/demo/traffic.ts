import { createQueue, type Queue, type Store } from 'oncue'
import { jobs } from './jobs.ts'
import type { Pace } from './pace.ts'

const TICK_MS = 2_000
/** Never zero: Postgres finds some jobs only when time has moved on. */
const SLOW_TICK_MS = 50
/** Slots of the worker that serves all queues but `media`. */
export const SLOTS = 12
/** Busy and quiet phases alternate. */
const WAVE_MS = 9 * 60_000
/** Enough for a visible backlog; a queue without a worker does not grow for ever. */
const MOST_WAITING: Readonly<Record<string, number>> = { media: 70 }
const MOST_WAITING_ELSEWHERE = 300

interface Flow {
  readonly queue: string
  /** Jobs per minute, on average. */
  readonly perMinute: number
  send(queue: Queue<typeof jobs>): Promise<unknown>
}

const pick = <T>(values: readonly [T, ...T[]]): T =>
  values[Math.floor(Math.random() * values.length)] ?? values[0]
const number = (from: number, to: number) => from + Math.floor(Math.random() * (to - from + 1))

const customer = () => `customer-${number(1_000, 9_999)}@example.com`
const newOrder = () => `ord_${number(100_000, 999_999)}`
const price = () => ({ amount: number(500, 24_000) / 100, currency: pick(['EUR', 'EUR', 'USD', 'GBP']) })
const region = () => ({ region: pick(['eu', 'us', 'asia']) })

const FLOWS: readonly Flow[] = [
  {
    queue: 'mail',
    perMinute: 50,
    send: (queue) =>
      queue.enqueue('send_receipt', { orderId: newOrder(), to: customer(), ...price() }, { meta: region() }),
  },
  {
    queue: 'mail',
    perMinute: 35,
    send: (queue) => queue.enqueue('send_newsletter', { issue: 'spring sale', to: customer() }),
  },
  {
    queue: 'payments',
    perMinute: 30,
    send: (queue) =>
      queue.enqueue('capture_payment', { orderId: newOrder(), ...price() }, { meta: region() }),
  },
  {
    queue: 'payments',
    perMinute: 2,
    send: (queue) => queue.enqueue('check_fraud', { orderId: newOrder() }),
  },
  {
    queue: 'webhooks',
    perMinute: 40,
    send: (queue) => {
      const host = Math.random() < 0.035 ? 'northwind' : pick(['contoso', 'fabrikam', 'litware'])
      const payload = { endpoint: `https://hooks.${host}.example/orders`, event: 'order.paid' }
      return queue.enqueue('deliver_webhook', { ...payload, orderId: newOrder() }, { meta: { host } })
    },
  },
  {
    queue: 'media',
    // More than its slots can do, even in a quiet phase.
    perMinute: 20,
    send: (queue) => {
      const videoId = `vid_${number(10_000, 99_999)}`
      const file = `${pick(['unboxing', 'tutorial', 'review'])}-${videoId}.mov`
      return queue.enqueue('transcode_video', { videoId, file, minutes: number(4, 12) })
    },
  },
  {
    queue: 'orders',
    perMinute: 6,
    async send(queue) {
      const order = { orderId: newOrder() }
      const packed = await queue.enqueue('pack_order', order)
      const printed = await queue.enqueue('print_label', order, { after: [packed] })
      await queue.enqueue('notify_courier', order, { after: [printed] })
    },
  },
  {
    queue: 'search',
    perMinute: 1,
    send: (queue) => {
      const category = pick(['garden', 'kitchen', 'toys'])
      return queue.enqueue('reindex_category', { category }, { unique: { key: `reindex:${category}` } })
    },
  },
  {
    queue: 'reports',
    perMinute: 2,
    send: (queue) => queue.enqueue('export_ledger', { account: `ACC-10${number(10, 40)}`, month: '2026-01' }),
  },
]

/**
 * Enqueues the traffic of a day until it is told to stop. Jobs that the database refuses for a while are left
 * out.
 */
export async function sendTraffic(
  store: Store,
  pace: Pace,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  const queue = createQueue({ store, jobs })
  while (!signal.aborted) {
    try {
      await pace.advance(TICK_MS, signal)
      const wave = 1 + 0.35 * Math.sin((2 * Math.PI * pace.now().getTime()) / WAVE_MS)
      const full = await fullQueues(store)
      const due = FLOWS.filter((flow) => !full.has(flow.queue)).flatMap((flow) =>
        Array<Flow>(Math.floor((flow.perMinute * wave * TICK_MS) / 60_000 + Math.random())).fill(flow),
      )
      await Promise.all(due.map((flow) => flow.send(queue)))
      if (pace.isFast) await untilTaken(store, pace, signal)
    } catch (error) {
      if (!signal.aborted) onError(error)
    }
  }
}

async function fullQueues(store: Store): Promise<Set<string>> {
  const full = (await store.queues()).filter(
    ({ queue, waiting, throttled, blocked }) =>
      waiting + throttled + blocked >= (MOST_WAITING[queue] ?? MOST_WAITING_ELSEWHERE),
  )
  return new Set(full.map(({ queue }) => queue))
}

/** Slows down while jobs wait that could run: nothing should be late only because this machine is slow. */
async function untilTaken(store: Store, pace: Pace, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const queues = (await store.queues()).filter(({ queue }) => queue !== 'media')
    const sum = (count: 'waiting' | 'running') => queues.reduce((total, queue) => total + queue[count], 0)
    if (sum('waiting') === 0 || sum('running') >= SLOTS) return
    await pace.advance(SLOW_TICK_MS, signal)
  }
}
