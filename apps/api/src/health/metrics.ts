import { FINISHED_STATUSES } from '@oncue/core'
import { DURATION_BUCKETS_MS, type QueueOverview, type Store } from '@oncue/db'
import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Services } from '../context.ts'
import { OTHER_QUEUES } from '../enqueue/enqueuer.ts'
import { authorize } from '../procedures/procedure.ts'
import { minuteOf } from './ended.ts'
import { BACKLOG } from './measure.ts'

/**
 * For Prometheus. This process counts its own work; the totals of the whole installation are read from the database with each
 * scrape, so every API process reports the same: use one of them, not their sum.
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
      writeHistogram('oncue_job_wait_seconds', 'Time from due to start, of finished jobs', wait.counts),
      writeHistogram('oncue_job_run_seconds', 'Time from start to end, of finished jobs', run.counts),
    ]
    return reply.type(register.contentType).send(text.join('\n'))
  })
}

function countRequests(app: FastifyInstance, register: Registry): void {
  const requests = new Histogram({
    name: 'oncue_http_request_seconds',
    help: 'Duration of requests to this process until the response was sent, by route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [register],
  })
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none'
    requests.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1_000)
  })
}

/** Returns the settled jobs, whose durations prom-client cannot take. */
function createCollector(register: Registry, { store, live, enqueuer }: Services): () => Promise<Settled> {
  const registers = [register]
  const enqueued = new Counter({
    name: 'oncue_jobs_enqueued_total',
    help: 'Jobs stored by this process',
    labelNames: ['queue'],
    registers,
  })
  const settled = new Counter({
    name: 'oncue_jobs_settled_total',
    help: 'Jobs finished on any worker since the first scrape of this process',
    labelNames: ['outcome'],
    registers,
  })
  const jobs = new Gauge({
    name: 'oncue_jobs',
    help: 'Stored jobs by status',
    labelNames: ['status'],
    registers,
  })
  const backlog = new Gauge({
    name: 'oncue_queue_jobs',
    help: 'Unfinished jobs by queue and reason for waiting',
    labelNames: ['queue', 'state'],
    registers,
  })
  const oldest = new Gauge({
    name: 'oncue_queue_oldest_waiting_seconds',
    help: 'How long the oldest waiting job has been due',
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
    help: 'Open streams and long polls of this process',
    labelNames: ['of'],
    registers,
  })
  const connections = new Gauge({
    name: 'oncue_pool_connections',
    help: 'Database connections of this process',
    labelNames: ['state'],
    registers,
  })
  const connectionsWanted = new Gauge({
    name: 'oncue_pool_waiting',
    help: 'Queries of this process waiting for a connection',
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
    watchers.set({ of: 'bulk_operation' }, live.bulkOperations.size)
    watchers.set({ of: 'health' }, live.health.size)
    watchers.set({ of: 'alerts' }, live.alerts.size)
    // SQLite has no pool.
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

/** Counts of settled jobs; of wait and run times, one count per bucket of the store. */
type Settled = {
  readonly completed: number
  readonly failed: number
  readonly cancelled: number
  readonly wait: { readonly counts: readonly number[] }
  readonly run: { readonly counts: readonly number[] }
}

const MINUTE_MS = 60_000
/** A settle counts in the minute in which its transaction began; none takes longer than this. */
const OPEN_MINUTES = 5

const EMPTY = { counts: DURATION_BUCKETS_MS.map(() => 0) }
const NOTHING: Settled = { completed: 0, failed: 0, cancelled: 0, wait: EMPTY, run: EMPTY }

/**
 * Counts the jobs that were settled since the first scrape of this process: an earlier start would change no rate. The store counts by the minute: past minutes are added once,
 * and the last few are read again each time.
 */
class SettledCounter {
  readonly #store: Pick<Store, 'series' | 'now'>
  #closed = NOTHING
  #openFrom: Date | undefined

  constructor(store: Pick<Store, 'series' | 'now'>) {
    this.#store = store
  }

  async read(): Promise<Settled> {
    const now = (await this.#store.now()).getTime()
    const openFrom = this.#openFrom ?? minuteOf(new Date(now))
    this.#openFrom = openFrom
    const closeBefore = minuteOf(new Date(now - OPEN_MINUTES * MINUTE_MS))
    const points = await this.#store.series({ from: openFrom, to: new Date(now + MINUTE_MS) })
    const ended = points.reduce(plus, this.#closed)
    if (closeBefore > openFrom && this.#openFrom === openFrom) {
      this.#closed = points.filter(({ minute }) => minute < closeBefore).reduce(plus, this.#closed)
      this.#openFrom = closeBefore
    }
    return ended
  }
}

function plus(sum: Settled, { completed, failed, cancelled, wait, run }: Settled): Settled {
  return {
    completed: sum.completed + completed,
    failed: sum.failed + failed,
    cancelled: sum.cancelled + cancelled,
    wait: plusCounts(sum.wait, wait),
    run: plusCounts(sum.run, run),
  }
}

function plusCounts(a: Settled['wait'], b: Settled['wait']): Settled['wait'] {
  return { counts: a.counts.map((count, bucket) => count + (b.counts[bucket] ?? 0)) }
}

/** Every second bucket: half powers of two are finer than a dashboard needs. */
const STEP = 2

/**
 * A histogram of seconds in the format of Prometheus, from the store's counts: prom-client can only observe one duration at a
 * time. The store keeps no sum, so the middles of the buckets are added up.
 */
export function writeHistogram(name: string, help: string, counts: readonly number[]): string {
  let count = 0
  let sumMs = 0
  const buckets: string[] = []
  DURATION_BUCKETS_MS.forEach((endMs, n) => {
    const here = counts[n] ?? 0
    count += here
    sumMs += here * ((DURATION_BUCKETS_MS[n - 1] ?? 0) / 2 + endMs / 2)
    // The last bucket is open: it counts only in +Inf.
    const isLast = n === DURATION_BUCKETS_MS.length - 1
    if (n % STEP === STEP - 1 && !isLast) buckets.push(`${name}_bucket{le="${endMs / 1_000}"} ${count}`)
  })
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} histogram`,
    ...buckets,
    `${name}_bucket{le="+Inf"} ${count}`,
    `${name}_sum ${sumMs / 1_000}`,
    `${name}_count ${count}`,
    '',
  ].join('\n')
}
