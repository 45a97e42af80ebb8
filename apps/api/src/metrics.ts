import type { QueueOverview, SeriesPoint } from '@oncue/db'
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Services } from './context.ts'
import { authorize } from './operation.ts'
import { SettledCounter } from './settled-counter.ts'

const BACKLOG = ['waiting', 'scheduled', 'running', 'blocked', 'held'] as const
const QUANTILES = { p50: '0.5', p95: '0.95', p99: '0.99' } as const

/**
 * For Prometheus. What this process did is counted here; what all of Oncue did is asked of the database when
 * somebody scrapes, so every API process tells the same about it: take one of them, not their sum.
 */
export function serveMetrics(app: FastifyInstance, services: Services): void {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const collect = createCollector(register, services)
  countRequests(app, register)

  app.get('/metrics', async (request, reply) => {
    await authorize(request.api, 'read')
    await collect()
    return reply.type(register.contentType).send(await register.metrics())
  })
}

function countRequests(app: FastifyInstance, register: Registry): void {
  const requests = new Histogram({
    name: 'oncue_http_request_seconds',
    help: 'Requests to this process by route and status; the time until the answer was sent',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [register],
  })
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none'
    requests.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1_000)
  })
}

function createCollector(register: Registry, { store, live, enqueuer }: Services): () => Promise<void> {
  const registers = [register]
  const enqueued = new Counter({
    name: 'oncue_jobs_enqueued_total',
    help: 'Jobs that this process stored',
    labelNames: ['queue'],
    registers,
  })
  const settled = new Counter({
    name: 'oncue_jobs_settled_total',
    help: 'Jobs that ended since this process started, wherever they ran',
    labelNames: ['outcome'],
    registers,
  })
  const jobs = new Gauge({
    name: 'oncue_jobs',
    help: 'Jobs that are stored, by status',
    labelNames: ['status'],
    registers,
  })
  const backlog = new Gauge({
    name: 'oncue_queue_jobs',
    help: 'Live jobs by queue and what they wait for',
    labelNames: ['queue', 'state'],
    registers,
  })
  const oldest = new Gauge({
    name: 'oncue_queue_oldest_waiting_seconds',
    help: 'For how long the job that waits longest could have run',
    labelNames: ['queue'],
    registers,
  })
  const workers = new Gauge({
    name: 'oncue_workers',
    help: 'Worker processes',
    labelNames: ['state'],
    registers,
  })
  const watchers = new Gauge({
    name: 'oncue_watchers',
    help: 'Open streams and waiting calls of this process',
    labelNames: ['of'],
    registers,
  })
  const times = {
    wait: quantiles(
      'oncue_job_wait_seconds',
      'From due to start, in the last minute that had any',
      registers,
    ),
    run: quantiles('oncue_job_run_seconds', 'From start to end, in the last minute that had any', registers),
  }
  const ended = new SettledCounter(store)

  return async () => {
    const [health, stats, { counts, last }] = await Promise.all([
      live.health.get(),
      store.stats(),
      ended.read(),
    ])
    enqueued.reset()
    for (const [queue, count] of enqueuer.stored) enqueued.inc({ queue }, count)
    settled.reset()
    for (const [outcome, count] of Object.entries(counts)) settled.inc({ outcome }, count)
    const { successRate: _, averageRunMs: __, ...byStatus } = stats
    for (const [status, count] of Object.entries(byStatus)) jobs.set({ status }, count)
    backlog.reset()
    oldest.reset()
    for (const queue of health.queues) setQueue(backlog, oldest, queue, health.now)
    workers.set({ state: 'alive' }, health.workers.alive)
    workers.set({ state: 'missing' }, health.workers.missing)
    watchers.set({ of: 'job' }, live.states.size)
    watchers.set({ of: 'health' }, live.health.size)
    for (const kind of ['wait', 'run'] as const) setQuantiles(times[kind], last?.[kind])
  }
}

function setQueue(
  backlog: Gauge<'queue' | 'state'>,
  oldest: Gauge<'queue'>,
  overview: QueueOverview,
  now: Date,
): void {
  const { queue, oldestWaiting } = overview
  for (const state of BACKLOG) backlog.set({ queue, state }, overview[state])
  oldest.set({ queue }, oldestWaiting ? Math.max(0, now.getTime() - oldestWaiting.getTime()) / 1_000 : 0)
}

function quantiles(name: string, help: string, registers: Registry[]): Gauge<'quantile'> {
  return new Gauge({ name, help, labelNames: ['quantile'], registers })
}

function setQuantiles(gauge: Gauge<'quantile'>, times: SeriesPoint['wait'] | undefined): void {
  gauge.reset()
  for (const [name, quantile] of Object.entries(QUANTILES)) {
    const ms = times?.[name as keyof typeof QUANTILES]
    if (ms !== undefined && ms !== null) gauge.set({ quantile }, ms / 1_000)
  }
}
