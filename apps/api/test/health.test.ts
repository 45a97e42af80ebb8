import { randomUUID } from 'node:crypto'
import { prepareJob } from '@oncue/core'
import { INTERNAL_QUEUE, prepareOwnJob } from '@oncue/core/internal'
import { DEFAULT_ALERT_RULES, type Health, SPARK_MINUTES } from '@oncue/core/wire'
import { openStore, type Store } from '@oncue/db'
import { type Control, openControl } from '@oncue/db/control'
import { eventually } from '@oncue/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { FactReader } from '../src/health/facts.ts'
import { GaugeRecorder } from '../src/health/gauge-recorder.ts'
import { createHealth } from '../src/live/live.ts'
import { createDatabase, DIALECTS, type Dialect, errorOf, startTestApi } from './harness.ts'
import { StatementCounter, startProxy } from './proxy.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE
const WORKER = '01900000-0000-7000-8000-00000000000a'
const ERROR = { class: 'TypeError', message: 'no user', fingerprint: 'f00d' }

/** A store whose clock is moved by hand. */
class Installation {
  readonly store: Store
  readonly control: Control
  readonly #clock: { now: number }
  readonly #workers: string[] = []

  constructor(store: Store, control: Control, clock: { now: number }) {
    this.store = store
    this.control = control
    this.#clock = clock
  }

  static async on(dialect: Dialect, url?: string): Promise<Installation> {
    const database = url === undefined ? await createDatabase(dialect) : undefined
    const clock = { now: Date.parse('2026-01-01T12:00:30.000Z') }
    const store = await openStore(url ?? database?.url ?? '', { clock: () => new Date(clock.now) })
    onTestFinished(async () => {
      await store.close()
      await database?.drop()
    })
    return new Installation(store, await openControl(store), clock)
  }

  get now(): Date {
    return new Date(this.#clock.now)
  }

  /** Moves the clock; workers stay alive. */
  async advance(ms: number): Promise<void> {
    this.#clock.now += ms
    for (const id of this.#workers) await this.store.rescue(id)
  }

  enqueue(queue: string, count = 1, topic = 'mail_digest'): Promise<string[]> {
    return this.store.enqueue(Array.from({ length: count }, () => prepareOwnJob(topic, {}, { queue })))
  }

  /** Ends jobs now: some failed, the others completed. */
  async end(queue: string, { completed = 0, failed = 0 }, error = ERROR): Promise<void> {
    await this.enqueue(queue, completed + failed)
    const claim = { queues: [queue], limit: completed + failed, worker: WORKER, leaseMs: MINUTE }
    const { jobs } = await this.store.claim(claim)
    await this.store.settle(
      jobs.map(({ id, run }, n) =>
        n < failed ? { id, run, kind: 'fail', error } : { id, run, kind: 'complete' },
      ),
    )
  }

  async attend(queues: string[], concurrency = 5): Promise<void> {
    const id = crypto.randomUUID()
    this.#workers.push(id)
    await this.store.attend({ id, host: 'box', pid: 1, queues, concurrency, version: '1' })
  }

  fallSilent(): void {
    this.#workers.length = 0
  }

  /** The current health, without a cache. */
  health(): Promise<Health> {
    return createHealth(this, 'production').get()
  }

  /** One line per queue. */
  async states(): Promise<string[]> {
    const { queues } = await this.health()
    return queues.map(({ queue, state }) => `${queue} ${state}`)
  }
}

describe.each(DIALECTS)('health on %s', (dialect) => {
  it('of an empty installation is good', async () => {
    const here = await Installation.on(dialect)
    const flat = new Array<number>(SPARK_MINUTES).fill(0)
    expect(await here.health()).toEqual({
      now: here.now,
      dialect,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      environment: 'production',
      summary: { level: 'warn', text: 'No workers are alive' },
      oldestWaiting: { value: null, spark: flat },
      backlog: { value: 0, spark: flat },
      throughput: { value: 0, spark: flat },
      failureRate: { value: null, spark: flat },
      workers: { alive: 0, missing: 0, slots: 0, running: 0, spark: flat },
      thresholds: {
        oldestWaitingSeconds: DEFAULT_ALERT_RULES.oldest_waiting.threshold,
        failureRate: DEFAULT_ALERT_RULES.failure_rate.threshold,
      },
      queues: [],
      others: {
        queues: 0,
        waiting: 0,
        scheduled: 0,
        running: 0,
        suspended: 0,
        blocked: 0,
        throttled: 0,
        oldestWaiting: null,
      },
      delivery: { waiting: 0, oldestWaiting: null, paused: null, limit: null },
      failures: [],
      alerts: { firing: 0, acked: 0, snoozed: 0 },
      questions: 0,
      bulkOperations: [],
    } satisfies Health)
  })

  it('lists the bulk operations that have not ended', async () => {
    const here = await Installation.on(dialect)
    const begin = (status?: 'canary') =>
      here.control.bulkOperations.create({
        ...{ action: 'requeue', filter: { status: 'failed' }, asOf: new Date(), spreadMs: 0 },
        ...{ idempotencyKey: randomUUID(), actor: { id: 't1', name: 'Ada', kind: 'token' } },
        ...{ total: 5_000, totalIsExact: true, ...(status && { canary: { count: 5, maxFailed: 0 } }) },
      })
    const [running, canary, stopped] = [await begin(), await begin('canary'), await begin()]
    await here.control.bulkOperations.stop(stopped.id, 'Ada')
    const { bulkOperations } = await createHealth(here, null).get()
    const progress = { total: 5_000, totalIsExact: true, done: 0, by: { id: 't1', name: 'Ada' } }
    expect(bulkOperations.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toMatchObject([
      { id: running.id, status: 'running', ...progress },
      { id: canary.id, status: 'canary', ...progress },
    ])
  })

  it('lists the worst of very many queues, and the others together', async () => {
    const here = await Installation.on(dialect)
    await here.attend(['mail'])
    const invented = Array.from({ length: 1_000 }, (_, n) => prepareJob('x', {}, { queue: `q${n}` }))
    await here.store.enqueue(invented)
    await here.enqueue('mail', 2)
    await here.store.pause('mail', 'anna')
    const { queues, others, backlog, oldestWaiting } = await here.health()
    expect(queues).toHaveLength(500)
    // They are stalled, which is worse than to be paused.
    expect(others).toMatchObject({ queues: 501, waiting: 502, running: 0, oldestWaiting: here.now })
    expect([backlog.value, oldestWaiting.value]).toEqual([1_002, here.now])

    await new GaugeRecorder(here).record()
    const [look] = await here.store.gauges.list({ from: new Date(0), to: here.now })
    expect(look?.whole.waiting).toBe(1_002)
    expect(look?.queues.size).toBe(500)
    expect(look?.queues.get('mail')).toMatchObject({ waiting: 2 })
  })

  it("says when Oncue's own queue is paused or stopped, since no alert is sent then", async () => {
    const here = await Installation.on(dialect)
    await here.attend(['mail'])
    await here.enqueue(INTERNAL_QUEUE, 2)
    await here.store.pause(INTERNAL_QUEUE, 'mallory')
    expect(await here.health()).toMatchObject({
      summary: { level: 'bad', text: 'No alerts are sent: oncue is paused by mallory' },
      delivery: { waiting: 2, oldestWaiting: here.now, paused: { at: here.now, by: 'mallory' } },
      queues: [],
    })
    await here.store.resume(INTERNAL_QUEUE)
    await here.store.limit({ queue: INTERNAL_QUEUE }, { maxRunning: 0 })
    expect(await here.health()).toMatchObject({
      summary: { level: 'bad', text: 'No alerts are sent: oncue is limited to 0 jobs' },
      delivery: { paused: null, limit: { maxRunning: 0 } },
    })
    await here.store.limit({ queue: INTERNAL_QUEUE }, null)
    expect((await here.health()).summary.text).toBe('All good')
  })

  it('lists the state of each queue, the worst first, and sums it up in a sentence', async () => {
    const here = await Installation.on(dialect)
    await here.attend(['mail', 'media', 'sync'], 5)
    await here.attend(['mail', 'docs'], 3)
    await here.enqueue('mail', 2)
    const waitingSince = here.now
    await here.store.pause('media', 'anna')
    await here.enqueue('media', 4)
    await here.advance(10 * MINUTE)
    await here.end('docs', { completed: 1 })
    await here.end('sync', { completed: 18, failed: 3 })
    await here.enqueue('lonely', 3)
    await here.advance(30 * SECOND)

    const health = await here.health()
    expect(await here.states()).toEqual([
      'mail stalled',
      'lonely stalled',
      'sync failing',
      'media paused',
      'docs ok',
    ])
    expect(health.summary).toEqual({ level: 'bad', text: '2 queues stalled, sync failing 14%' })
    const [mail, lonely, sync] = health.queues
    expect(mail).toMatchObject({ waiting: 2, running: 0, capacity: 8, oldestWaiting: waitingSince })
    expect(lonely).toMatchObject({ waiting: 3, capacity: 0 })
    expect(sync).toMatchObject({
      capacity: 5,
      failureRate: 3 / 21,
      failedLastHour: 3,
      spark: { waiting: new Array(SPARK_MINUTES).fill(0) },
    })
    // They ended half a minute ago. Five minutes are counted, of which the current one has just begun.
    expect(here.now.getTime() % MINUTE).toBe(0)
    expect(sync?.throughput).toBe(Math.round((21 / 4) * 100) / 100)
    expect(sync?.spark.throughput.slice(-3)).toEqual([0, 21 / 5, 21 / 4])
    expect(sync?.spark.failureRate.slice(-3)).toEqual([0, 0.1429, 0.1429])
    expect(health).toMatchObject({
      backlog: { value: 9 },
      oldestWaiting: { value: waitingSince },
      failureRate: { value: 3 / 22 },
      workers: { alive: 2, missing: 0, slots: 8 },
      failures: [
        {
          ...{ fingerprint: 'f00d', class: 'TypeError', message: 'no user', isNew: true },
          ...{ retrying: 0, retryingIsExact: true, failed: 3, nextTryAt: null },
          ...{ topics: ['mail_digest'], queues: ['sync'] },
        },
      ],
    })

    // After one job has ended, mail is only late.
    const { jobs } = await here.store.claim({ queues: ['mail'], limit: 1, worker: WORKER, leaseMs: MINUTE })
    await here.store.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'complete' })))
    expect(await here.states()).toContain('mail late')
  })

  it('names an error as soon as the first runs have failed, and until they complete', async () => {
    const here = await Installation.on(dialect)
    await here.attend(['sync'])
    await here.enqueue('sync', 3)
    const claim = { queues: ['sync'], limit: 3, worker: WORKER, leaseMs: MINUTE }
    const { jobs } = await here.store.claim(claim)
    await here.store.settle(
      jobs.map(({ id, run }) => ({ id, run, kind: 'retry', delayMs: MINUTE, error: ERROR })),
    )
    const nextTryAt = new Date(here.now.getTime() + MINUTE)
    expect((await here.health()).failures).toEqual([
      {
        ...{ ...ERROR, retrying: 3, undoing: 0, retryingIsExact: true, failed: 0 },
        ...{ nextTryAt, lastSeen: here.now },
        ...{ topics: ['mail_digest'], queues: ['sync'], isNew: true },
      },
    ])
    await here.advance(MINUTE)
    const again = await here.store.claim(claim)
    await here.store.settle(again.jobs.map(({ id, run }) => ({ id, run, kind: 'complete' })))
    expect((await here.health()).failures).toEqual([])
  })

  it('forgets a failure rate after 15 minutes, and failures after an hour', async () => {
    const here = await Installation.on(dialect)
    await here.attend(['mail'])
    await here.end('mail', { failed: 30 })
    const look = async () => {
      const { queues, failures, failureRate } = await here.health()
      return [queues[0]?.state, queues[0]?.failedLastHour, failureRate.value, failures.length]
    }
    expect(await look()).toEqual(['failing', 30, 1, 1])
    await here.advance(15 * MINUTE)
    expect(await look()).toEqual(['idle', 30, null, 1])
    await here.advance(45 * MINUTE + 1)
    expect(await look()).toEqual(['idle', 0, null, 0])
  })

  it('takes the limits for late and failing from the enabled rules', async () => {
    const here = await Installation.on(dialect)
    await here.attend(['mail', 'media'])
    await here.enqueue('mail')
    await here.enqueue('media')
    await here.advance(61 * SECOND)
    expect(await here.states()).toEqual(['mail ok', 'media ok'])
    const rule = { name: 'mail is urgent', kind: 'oldest_waiting', queue: 'mail', threshold: 60 } as const
    await here.control.alertRules.create({ ...rule, forMs: 0, enabled: true })
    const { queues, thresholds } = await here.health()
    expect(queues.map(({ queue, state }) => `${queue} ${state}`)).toEqual(['mail stalled', 'media ok'])
    // A rule for one queue changes nothing else.
    expect(thresholds.oldestWaitingSeconds).toBe(300)
  })

  it("leaves out Oncue's own queue, and workers that serve no other", async () => {
    const here = await Installation.on(dialect)
    await here.attend([INTERNAL_QUEUE])
    await here.attend([INTERNAL_QUEUE, 'mail'])
    await here.end(INTERNAL_QUEUE, { completed: 1, failed: 30 })
    await here.enqueue(INTERNAL_QUEUE, 5)
    expect(await here.health()).toMatchObject({
      queues: [],
      failures: [],
      backlog: { value: 0 },
      throughput: { value: 0 },
      workers: { alive: 1 },
    })
    await new GaugeRecorder(here).record()
    const [look] = await here.store.gauges.list({ from: new Date(0), to: here.now })
    expect(look).toMatchObject({ whole: { waiting: 0, workers: 1 }, queues: new Map() })
  })

  it('says about when a queue will be empty, unless it grows or is paused', async () => {
    const here = await Installation.on(dialect)
    await here.attend(['mail'])
    const drainMs = async () => (await here.health()).queues[0]?.drainMs
    await here.enqueue('mail', 10)
    await new GaugeRecorder(here).record()
    expect(await drainMs()).toBeNull()
    await here.advance(90 * SECOND)
    expect(await drainMs()).toBeNull()
    const claim = { queues: ['mail'], limit: 4, worker: WORKER, leaseMs: MINUTE }
    const { jobs } = await here.store.claim(claim)
    await here.store.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'complete' })))
    // The sample is 2 min old. Since then the backlog has shrunk by 4, to 6.
    expect(await drainMs()).toBe(3 * MINUTE)
    await here.store.pause('mail', 'anna')
    expect(await drainMs()).toBeNull()
    await here.store.resume('mail')
    await here.enqueue('mail', 20)
    expect(await drainMs()).toBeNull()
  })

  it('does not count a worker that has been silent for a minute, though its death was not noticed', async () => {
    const here = await Installation.on(dialect)
    await here.attend(['mail'])
    await here.enqueue('mail')
    expect((await here.health()).workers).toMatchObject({ alive: 1, missing: 0, slots: 5 })
    here.fallSilent()
    await here.advance(MINUTE)
    const { workers, summary, queues } = await here.health()
    expect(workers).toMatchObject({ alive: 0, missing: 1, slots: 0 })
    expect(summary).toEqual({ level: 'bad', text: 'No workers are alive, 1 job waits' })
    expect(queues).toMatchObject([{ state: 'stalled', capacity: 0 }])
  })

  it('measures each sparkline over the same time as the number beside it', async () => {
    const here = await Installation.on(dialect)
    await here.attend(['mail'])
    await here.end('mail', { completed: 15, failed: 5 })
    for (const minutes of [3, 3, 8, 8]) {
      await here.advance(minutes * MINUTE)
      const { throughput, failureRate, queues } = await here.health()
      const [mail] = queues
      expect(throughput.spark.at(-1)).toBe(throughput.value)
      expect(mail?.spark.throughput.at(-1)).toBe(mail?.throughput)
      expect(failureRate.spark.at(-1)).toBe(failureRate.value ?? 0)
      expect(mail?.spark.failureRate.at(-1)).toBe(mail?.failureRate ?? 0)
    }
    const { throughput, failureRate } = await here.health()
    // 20 jobs in one minute are 4 a minute for as long as that is one of the last 5, and fail at 25% for 15.
    expect(throughput.spark.filter((value) => value > 0)).toEqual([4, 4, 4, 4, 4])
    expect(failureRate.spark.filter((value) => value > 0)).toEqual(new Array(15).fill(0.25))
  })

  it('draws its sparklines from the looks of every minute', async () => {
    const here = await Installation.on(dialect)
    await here.attend(['mail'], 5)
    const recorder = new GaugeRecorder(here)
    await here.enqueue('mail', 1)
    for (let minute = 0; minute < 3; minute++) {
      await recorder.record()
      await here.enqueue('mail', 1)
      await here.advance(MINUTE)
    }
    const { backlog, oldestWaiting, workers, queues } = await here.health()
    expect(backlog.spark.slice(-5)).toEqual([0, 1, 2, 3, 4])
    expect(queues[0]?.spark.waiting.slice(-5)).toEqual([0, 1, 2, 3, 4])
    expect(oldestWaiting.spark.slice(-5)).toEqual([0, 0, 60, 120, 180])
    expect(workers.spark.slice(-5)).toEqual([0, 1, 1, 1, 1])
  })

  it('sends watchers what has changed, but not the passing of time', async () => {
    const here = await Installation.on(dialect)
    await here.attend(['mail'])
    await here.enqueue('mail')
    const health = createHealth(here, null, 10)
    onTestFinished(() => health.stop())
    const told: number[] = []
    const leaving = new AbortController()
    const watching = (async () => {
      for await (const { backlog } of health.watch(leaving.signal)) told.push(backlog.value)
    })()
    const looks = vi.spyOn(here.store, 'queues')
    const afterAFewLooks = async () => {
      const target = looks.mock.calls.length + 5
      await eventually(() => expect(looks.mock.calls.length).toBeGreaterThan(target))
    }
    await eventually(() => expect(told).toEqual([1]))
    await here.advance(SECOND)
    await afterAFewLooks()
    expect(told).toEqual([1])
    await here.enqueue('mail')
    await eventually(() => expect(told).toEqual([1, 2]))
    // Values that change only with time are sent once a minute.
    await here.advance(MINUTE)
    await eventually(() => expect(told).toEqual([1, 2, 2]))
    leaving.abort()
    await expect(watching).rejects.toThrow('aborted')
  })
})

describe.each(DIALECTS)('gauges on %s', (dialect) => {
  it('are written once a minute by one of all processes, also after one has stopped', async () => {
    const here = await Installation.on(dialect)
    const [first, second] = [1, 2].map(() => new GaugeRecorder(here))
    if (!first || !second) throw new Error('there are two')
    expect(await first.record()).toBe(true)
    expect(await second.record()).toBe(false)
    await here.advance(MINUTE)
    // The first process has died.
    expect(await second.record()).toBe(true)
    await here.advance(MINUTE)
    const written = await Promise.all([first.record(), second.record()])
    expect(written.filter(Boolean)).toHaveLength(1)
    expect(await here.store.gauges.list({ from: new Date(0), to: here.now })).toHaveLength(3)
  })

  it('are written while the API runs', async () => {
    const database = await createDatabase(dialect)
    const api = await startTestApi({ url: database.url })
    const looks = () => api.store.gauges.list({ from: new Date(0), to: new Date(Date.now() + DAY) })
    await eventually(async () => expect((await looks()).length).toBeGreaterThan(0))
    await api.close()
    await database.drop()
  })

  it('and series are returned in steps, so that a chart of a day has few points', async () => {
    const database = await createDatabase(dialect)
    const api = await startTestApi({ url: database.url })
    const { store } = api
    const now = Date.now()
    const today = now - (now % DAY)
    const empty = { running: 0, oldestMs: 0, workers: 2, slots: 10 }
    const yesterday = Array.from({ length: 60 }, (_, n) => new Date(today - DAY + n * MINUTE))
    for (const [n, minute] of yesterday.entries()) {
      const gauge = { ...empty, waiting: n, workers: n === 7 ? 0 : 2 }
      await store.gauges.record({ minute, whole: gauge, queues: new Map(n < 5 ? [['mail', gauge]] : []) })
    }
    const range = { from: new Date(today - DAY), to: new Date(today - DAY + 60 * MINUTE) }
    const { jobs } = api.client()
    expect(await jobs.gauges.query(range)).toHaveLength(60)
    const steps = await jobs.gauges.query({ ...range, stepMinutes: 5 })
    expect(steps.map(({ waiting, workers }) => [waiting, workers]).slice(0, 3)).toEqual([
      [4, 2],
      [9, 0],
      [14, 2],
    ])
    for (const read of [jobs.gauges, jobs.series])
      expect(await errorOf(read.query({ from: range.to, to: range.from }))).toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringMatching(/^input\.from: must not be after `to`/),
      })
    const ofMail = await jobs.gauges.query({ ...range, queue: 'mail', stepMinutes: 30 })
    expect(ofMail).toMatchObject([
      { waiting: 4, workers: 2 },
      { waiting: 0, workers: null },
    ])

    await api.enqueue()
    await api.complete(await api.claim())
    const [point, ...others] = await jobs.series.query({
      ...{ from: new Date(Date.now() - MINUTE), to: new Date(Date.now() + MINUTE), stepMinutes: 1_440 },
    })
    expect(others).toEqual([])
    expect(point).toMatchObject({ minute: new Date(today), completed: 1 })
    // The buckets that percentiles come from stay on the server.
    expect(Object.keys(point?.run ?? {})).toEqual(['p50', 'p95', 'p99'])
    await api.close()
    await database.drop()
  })
})

describe('the cost of health', () => {
  it('is a few statements, however many queues and readers there are', async () => {
    const database = await createDatabase('postgres')
    const counter = new StatementCounter()
    const proxy = await startProxy(database.url, counter.listen)
    const here = await Installation.on('postgres', proxy.url)
    const costOf = async (work: () => Promise<unknown>) => {
      const before = counter.count
      await work()
      return counter.count - before
    }
    const facts = new FactReader(here.store, here.control)
    await facts.read()
    // Fills the pool first: the setup statement of a later connection would count as well.
    await Promise.all(Array.from({ length: 10 }, () => here.store.now()))
    const computed = await costOf(() => facts.read())
    // Four for queues; workers, ended jobs, alerts, bulk operations; the clock twice.
    expect(computed).toBeLessThanOrEqual(10)
    for (let n = 0; n < 100; n++) await here.enqueue(`q${n}`)
    // Wake-ups of enqueued jobs may still arrive, and the cache of five seconds may expire.
    expect(await costOf(() => facts.read())).toBeLessThan(computed + 20)

    // Including failures, samples and rules, which are read every five seconds.
    const fresh = createHealth(here, null)
    const shared = await costOf(() => Promise.all(Array.from({ length: 100 }, () => fresh.get())))
    expect(shared).toBeLessThanOrEqual(computed + 8)
    await here.store.close()
    await database.drop()
  })
})

it('health pauses for longer after a slow read', async () => {
  const here = await Installation.on('sqlite')
  let time = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => time)
  onTestFinished(() => clock.mockRestore())
  let tookMs = 500
  const queues = vi.spyOn(here.store, 'queues').mockImplementation(async () => {
    time += tookMs
    return []
  })
  const health = createHealth(here, null)
  const looksAt = async (ms: number) => {
    time = ms
    await health.get()
    return queues.mock.calls.length
  }
  expect([await looksAt(0), await looksAt(2_499), await looksAt(2_500)]).toEqual([1, 1, 2])
  // At most ten seconds, and one second if reads are fast.
  tookMs = 60_000
  expect(await looksAt(5_000)).toBe(3)
  tookMs = 1
  expect([await looksAt(14_999), await looksAt(15_000)]).toEqual([3, 4])
  expect([await looksAt(15_999), await looksAt(16_000)]).toEqual([4, 5])
})

it('the environment has its configured name', async () => {
  const api = await startTestApi('sqlite', { env: { ONCUE_ENVIRONMENT: 'staging' } })
  expect((await api.client().health.get.query()).environment).toBe('staging')
})
