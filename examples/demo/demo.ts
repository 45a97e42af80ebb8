import {
  type Logger,
  type MaintenanceOptions,
  openStore,
  type RunningWorker,
  type Store,
  silentLogger,
  startWorker,
  type WorkerOptions,
} from 'oncue'
import { readLoad } from '../../apps/api/src/health/facts.ts'
import { sampleGauges } from '../../apps/api/src/health/gauge-samples.ts'
import { fastForward, type Pace, realTime } from './pace.ts'
import { Services } from './services.ts'
import { SLOTS, sendTraffic } from './traffic.ts'
import { createScheduledWorkers, createWorkers } from './workers.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** The time range that charts show at first. */
const PAST_MS = 35 * MINUTE_MS
const SPEED = 250
/** One of the called services has been down for this long when the demo is first opened. */
const TROUBLE_MS = 11 * MINUTE_MS
/** Two slots for videos are too few, so that there is a late queue to see. */
const MEDIA_SLOTS = 2
/** Short: jobs that are interrupted continue later, so a stop need not wait for them. */
const GRACE_MS = 500

type Retention = NonNullable<MaintenanceOptions['retention']>

export interface Demo {
  stop(options?: { readonly graceMs?: number }): Promise<void>
}

/** Traffic, and workers for it, on the caller's store. Finished jobs are kept for a day by default. */
export async function startDemo(store: Store, log: Logger, retention: Retention = {}): Promise<Demo> {
  const services = new Services(realTime, new Date(Date.now() - TROUBLE_MS))
  const day = { completed: DAY_MS, failed: DAY_MS, cancelled: DAY_MS }
  return run(store, realTime, log, [createWorkers(services), createScheduledWorkers(services)], {
    maintenance: { retention: { ...day, ...retention } },
  })
}

/**
 * Half an hour of the same traffic in a few seconds, by a clock that starts in the past: all of it is enqueued and
 * run as it will be later. Only on a database without a finished job: any other has something to show, and may be
 * in use. Returns whether it did.
 */
export async function playThePast(
  url: string,
  signal: AbortSignal,
  { pastMs = PAST_MS, schema }: { readonly pastMs?: number; readonly schema?: string } = {},
): Promise<boolean> {
  const pace = fastForward(new Date(Date.now() - pastMs), SPEED)
  const store = await openStore(url, { schema, clock: () => pace.now(), synchronous: 'NORMAL' })
  try {
    const { completed, failed, cancelled } = await store.stats()
    if (completed + failed + cancelled > 0) return false
    const services = new Services(pace, new Date(Date.now() - TROUBLE_MS))
    const demo = await run(store, pace, silentLogger, [createWorkers(services)], {
      ...{ maintenance: false, pollMs: 10, leaseMs: DAY_MS },
    })
    try {
      for (let minute = 0; minute * MINUTE_MS < pastMs; minute++) {
        await pace.sleep(MINUTE_MS, signal)
        await recordGauges(store, pace)
      }
    } finally {
      await demo.stop({ graceMs: 0 })
    }
    return true
  } finally {
    await store.close()
  }
}

/** A sample of the gauges, as the API stores once a minute. */
async function recordGauges(store: Store, pace: Pace): Promise<void> {
  const now = pace.now()
  const { queues, workers } = await readLoad(store)
  // They live in this process, and send heartbeats by the real clock, which is far too slow here.
  const alive = workers.map((worker) => ({ ...worker, lastBeat: now }))
  await store.gauges.record(sampleGauges(now, queues, alive))
}

async function run(
  store: Store,
  pace: Pace,
  log: Logger,
  workers: WorkerOptions['workers'],
  options: Partial<WorkerOptions>,
): Promise<Demo> {
  const shared = { ...options, store, workers, log, lease: 'inline', graceMs: GRACE_MS } as const
  const running: RunningWorker[] = [
    await startWorker({
      ...shared,
      queues: ['payments', 'mail', 'webhooks', 'orders', 'search', 'reports'],
      concurrency: SLOTS,
    }),
    await startWorker({ ...shared, queues: ['media'], concurrency: MEDIA_SLOTS }),
  ]
  const stopping = new AbortController()
  const traffic = sendTraffic(store, pace, stopping.signal, (error) =>
    log.warn({ err: error }, 'the demo could not enqueue'),
  )
  return {
    async stop(options) {
      stopping.abort()
      await traffic
      await Promise.all(running.map((worker) => worker.stop(options)))
    },
  }
}
