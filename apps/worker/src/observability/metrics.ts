import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FinishedStatus } from '@oncue/core'
import type { ClaimedJob, Settlement } from '@oncue/db'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { WorkerStats } from '../dispatch/dispatcher.ts'
import type { Middleware } from '../run/middleware.ts'
import type { RunningWorker } from '../worker.ts'

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600]

/** What a worker counts, for Prometheus. */
export interface Metrics {
  readonly registry: Registry
  /** Measures runs: pass it as `use`. */
  readonly middleware: Middleware
  /** Counts settled runs: pass it as `onSettled`. */
  readonly onSettled: (job: ClaimedJob, settlement: Settlement) => void
  /** Exports the gauges and counters of this worker. */
  watch(worker: Pick<RunningWorker, 'stats'>): void
}

/** The metrics of one worker, in a registry of its own. */
export function createMetrics(
  options: {
    /** For tests: replaces the clock. */
    readonly runtime?: Runtime
  } = {},
): Metrics {
  const { runtime = systemRuntime } = options
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'oncue_worker_' })
  const by = { labelNames: ['topic', 'queue'] as const, registers: [registry] }
  const settled = new Counter({
    name: 'oncue_jobs_settled_total',
    help: 'Settled runs by outcome',
    labelNames: ['topic', 'queue', 'outcome'],
    registers: [registry],
  })
  const run = new Histogram({
    name: 'oncue_job_run_seconds',
    help: 'Duration of handlers',
    buckets: SECONDS,
    ...by,
  })
  const wait = new Histogram({
    name: 'oncue_job_wait_seconds',
    help: "Time from a job's due time to the start of its handler, by this host's clock",
    buckets: SECONDS,
    ...by,
  })

  return {
    registry,
    async middleware({ topic, queue, runAt }, _ctx, next) {
      wait.observe({ topic, queue }, Math.max(0, runtime.now() - runAt.getTime()) / 1_000)
      const startedAt = runtime.monotonic()
      try {
        return await next()
      } finally {
        run.observe({ topic, queue }, (runtime.monotonic() - startedAt) / 1_000)
      }
    },
    onSettled(job, settlement) {
      settled.inc({ topic: job.topic, queue: job.queue, outcome: OUTCOMES[settlement.kind] })
    },
    watch(worker) {
      for (const { type, name, help, of } of READ)
        addReading(registry, type, name, help, () => of(worker.stats()))
    },
  }
}

/** Final outcomes have the names of the job's status, as in the metrics of the API. */
const OUTCOMES = {
  complete: 'completed',
  fail: 'failed',
  cancel: 'cancelled',
  retry: 'retried',
  snooze: 'snoozed',
  release: 'released',
  suspend: 'suspended',
  undone: 'undone',
} as const satisfies Record<
  Settlement['kind'],
  FinishedStatus | 'retried' | 'snoozed' | 'released' | 'suspended' | 'undone'
>

type Reading = {
  readonly type: 'gauge' | 'counter'
  readonly name: string
  readonly help: string
  readonly of: (stats: WorkerStats) => number
}

const READ: readonly Reading[] = [
  { type: 'gauge', name: 'slots', help: 'Maximum number of running jobs', of: (stats) => stats.slots },
  { type: 'gauge', name: 'running', help: 'Running handlers', of: (stats) => stats.running },
  {
    type: 'gauge',
    name: 'prefetched',
    help: 'Claimed jobs waiting for a slot',
    of: (stats) => stats.prefetched,
  },
  { type: 'gauge', name: 'unsettled', help: 'Finished runs not yet settled', of: (stats) => stats.unsettled },
  {
    type: 'counter',
    name: 'claims_total',
    help: 'Claim statements',
    of: (stats) => stats.claims,
  },
  {
    type: 'counter',
    name: 'claimed_jobs_total',
    help: 'Claimed jobs',
    of: (stats) => stats.claimed,
  },
  { type: 'counter', name: 'lost_runs_total', help: 'Runs that lost their lease', of: (stats) => stats.lost },
  {
    type: 'counter',
    name: 'stale_runs_total',
    help: 'Results discarded because the lease was lost',
    of: (stats) => stats.stale,
  },
  {
    type: 'counter',
    name: 'abandoned_runs_total',
    help: 'Handlers that ignored ctx.signal',
    of: (stats) => stats.abandoned,
  },
]

/** Read at each scrape, so that it costs nothing otherwise. */
function addReading(
  registry: Registry,
  type: Reading['type'],
  name: string,
  help: string,
  read: () => number,
): void {
  const config = { name: `oncue_worker_${name}`, help, registers: [registry] }
  if (type === 'gauge') {
    new Gauge({
      ...config,
      collect() {
        this.set(read())
      },
    })
    return
  }
  new Counter({
    ...config,
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}

/** Serves the metrics until it is closed. */
export interface MetricsServer {
  readonly url: string
  close(): Promise<void>
}

/** Serves `/metrics` for Prometheus and `/healthz` for liveness probes. */
export async function serveMetrics(options: {
  /** From `createMetrics`. */
  readonly metrics: Metrics
  /** 0: any free port. */
  readonly port: number
  /** The address to listen on. Default: 127.0.0.1. */
  readonly host?: string | undefined
}): Promise<MetricsServer> {
  const { metrics, port, host = '127.0.0.1' } = options
  const { registry } = metrics
  const server = createServer(async (request, response) => {
    // Not `new URL`, which throws for paths that any client can send, such as `//`.
    const [path] = (request.url ?? '/').split('?', 1)
    if (path === '/healthz') {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n')
      return
    }
    if (path !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found. Try /metrics or /healthz.\n')
      return
    }
    try {
      const text = await registry.metrics()
      response.writeHead(200, { 'content-type': registry.contentType }).end(text)
    } catch {
      response.writeHead(500).end()
    }
  })
  server.listen(port, host)
  await once(server, 'listening')
  // Jobs keep the process alive, a metrics server does not.
  server.unref()
  const { address, port: bound, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`,
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
