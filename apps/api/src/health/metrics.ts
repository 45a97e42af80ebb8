import { FINISHED_STATUSES } from '@oncue/core'
import type { QueueOverview } from '@oncue/db'
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Services } from '../context.ts'
import { OTHER_QUEUES } from '../enqueue/enqueuer.ts'
import { authorize } from '../procedures/procedure.ts'
import { BACKLOG } from './measure.ts'
import { type Ended, SettledCounter } from './settled-counter.ts'
import { writeHistogram } from './write-histogram.ts'

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
    const { wait, run } = await collect()
    const text = [
      await register.metrics(),
      writeHistogram('oncue_job_wait_seconds', 'From due to start, of jobs that ended', wait.counts),
      writeHistogram('oncue_job_run_seconds', 'From start to end, of jobs that ended', run.counts),
    ]
    return reply.type(register.contentType).send(text.join('\n'))
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

/** Answers what ended, whose durations prom-client cannot take. */
function createCollector(register: Registry, { store, live, enqueuer }: Services): () => Promise<Ended> {
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
  const connections = new Gauge({
    name: 'oncue_pool_connections',
    help: 'Connections of this process to the database',
    labelNames: ['state'],
    registers,
  })
  const connectionsWanted = new Gauge({
    name: 'oncue_pool_waiting',
    help: 'Queries of this process that wait for a connection',
    registers,
  })
  const counter = new SettledCounter(store)

  return async () => {
    const [health, stats, ended] = await Promise.all([live.health.get(), store.stats(), counter.read()])
    enqueued.reset()
    for (const [queue, count] of enqueuer.stored) enqueued.inc({ queue }, count)
    settled.reset()
    for (const outcome of FINISHED_STATUSES) settled.inc({ outcome }, ended[outcome])
    const { successRate: _, averageRunMs: __, ...byStatus } = stats
    for (const [status, count] of Object.entries(byStatus)) jobs.set({ status }, count)
    backlog.reset()
    oldest.reset()
    for (const queue of health.queues) setQueue(backlog, oldest, queue, health.now)
    if (health.others.queues > 0)
      setQueue(backlog, oldest, { ...health.others, queue: OTHER_QUEUES }, health.now)
    workers.set({ state: 'alive' }, health.workers.alive)
    workers.set({ state: 'missing' }, health.workers.missing)
    watchers.set({ of: 'job' }, live.states.size)
    watchers.set({ of: 'operation' }, live.operations.size)
    watchers.set({ of: 'health' }, live.health.size)
    watchers.set({ of: 'alerts' }, live.alerts.size)
    // On SQLite there is none, and nothing to tell.
    const { total = 0, idle = 0, waiting = 0 } = store.pool() ?? {}
    connections.set({ state: 'busy' }, total - idle)
    connections.set({ state: 'idle' }, idle)
    connectionsWanted.set(waiting)
    return ended
  }
}

function setQueue(
  backlog: Gauge<'queue' | 'state'>,
  oldest: Gauge<'queue'>,
  overview: Pick<QueueOverview, 'queue' | 'oldestWaiting' | (typeof BACKLOG)[number]>,
  now: Date,
): void {
  const { queue, oldestWaiting } = overview
  for (const state of BACKLOG) backlog.set({ queue, state }, overview[state])
  oldest.set({ queue }, oldestWaiting ? Math.max(0, now.getTime() - oldestWaiting.getTime()) / 1_000 : 0)
}
