import { readFile } from 'node:fs/promises'
import { defineJobs, defineWorkers, job } from '@oncue/core'
import { openStore, type Store } from '@oncue/db'
import { connectPostgres, startPostgres } from '@oncue/db/testing'
import { type Simulation, simulate } from '@oncue/runtime'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { startWorker, type WorkerOptions } from '../src/index.ts'
import { type Bench, describePostgres, someJobs, TestLog, until } from './harness.ts'

const jobs = defineJobs({ report: job({ input: z.void(), cron: '*/7 * * * *' }) })

const SECOND = 1_000
const MINUTE = 60_000

/** Time passes in the process and in the database; after each step statements get real time to end. */
async function pass(runtime: Simulation, ms: number, stepMs = SECOND): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await runtime.advance(Math.min(stepMs, ms - passed))
    const at = performance.now()
    await until(() => performance.now() > at + 3)
  }
}

async function rests(runtime: Simulation, worker: { stats(): { resting: boolean } }): Promise<void> {
  await until(async () => {
    await runtime.advance(2 * SECOND)
    return worker.stats().resting
  })
  // What was under way ends.
  await pass(runtime, 3 * SECOND)
  expect(worker.stats().resting).toBe(true)
}

/** Time passes slowly until something is so: a statement that is repeated waits by this clock. */
function comes(runtime: Simulation, condition: () => unknown): Promise<void> {
  return until(async () => {
    await runtime.advance(SECOND / 10)
    return condition()
  })
}

/** A worker that rests, on a clock that the test moves. */
async function restingOn(
  bench: Bench,
  workers: WorkerOptions['workers'],
  options: { now?: number; runtime?: Simulation; queues?: string[] } = {},
) {
  const { now, runtime = simulate({ now }), queues } = options
  const clock = () => new Date(runtime.now())
  const store = await bench.open({ runtime, clock })
  const log = new TestLog()
  const worker = await bench.start({ store, runtime, log, workers, queues, pollMs: 'auto', maintenance: {} })
  await rests(runtime, worker)
  return { runtime, store, log, worker, producer: await bench.open({ clock }) }
}

const sessionOn = async (bench: Bench) => {
  const session = await connectPostgres(bench.url)
  bench.defer(() => session.end())
  return session
}

it('a worker that may rest sends an idle Postgres nothing for a quarter of an hour', async () => {
  const server = await startPostgres({ settings: { log_statement: 'all' } })
  onTestFinished(() => server.stop())
  const runtime = simulate()
  const store = await openStore(server.url, { migrate: true, runtime, clock: () => new Date(runtime.now()) })
  onTestFinished(() => store.close())
  const worker = await startWorker({
    store,
    runtime,
    lease: 'inline',
    pollMs: 'auto',
    workers: { mail: () => null },
    log: new TestLog(),
  })
  onTestFinished(() => worker.stop({ graceMs: 0 }))
  const statements = async () =>
    (await readFile(server.logFile, 'utf8'))
      .split('\n')
      .filter((line) => /LOG: +(statement|execute)/.test(line))
  await rests(runtime, worker)
  const startedAt = runtime.now()
  const before = await statements()
  await pass(runtime, 14 * MINUTE - (startedAt % (15 * MINUTE)), 15 * SECOND)
  expect(await statements()).toEqual(before)
  // At the full quarter it polls, and does what a leader does.
  await pass(runtime, 2 * MINUTE)
  const afterwards = (await statements()).slice(before.length)
  expect(afterwards.join('\n')).toMatch(/claim_/)
  expect(afterwards.join('\n')).toMatch(/rescue_/)
  expect(worker.stats().resting).toBe(true)
  // Measured: 38. A worker that polls every second sends more than that in half a minute.
  expect(afterwards.length).toBeLessThan(100)
})

describePostgres('a worker that rests', (bench) => {
  it('runs a job at once that is enqueued meanwhile, and rests again', async () => {
    const { runtime, worker, producer } = await restingOn(bench, { mail: () => null })
    const at = runtime.now()
    await producer.enqueue(someJobs(1, 'mail'))
    await comes(runtime, () => worker.stats().settled.complete === 1)
    // Without a wake-up it would have slept for some 14 minutes.
    expect(runtime.now() - at).toBeLessThan(MINUTE / 2)
    expect(worker.stats().resting).toBe(false)
    await rests(runtime, worker)
  })

  it('polls as usual from an enqueue in any queue until no job runs any more', async () => {
    const { runtime, worker, producer } = await restingOn(bench, { mail: () => null })
    await producer.enqueue(someJobs(1, 'elsewhere', { queue: 'elsewhere' }))
    await until(() => !worker.stats().resting)
    const other = '018f0000-0000-7000-8000-000000000001'
    const claim = { worker: other, leaseMs: 600_000, limit: 1, queues: ['elsewhere'] }
    const { jobs } = await producer.claim(claim)
    await pass(runtime, 2 * MINUTE)
    expect(worker.stats().resting).toBe(false)
    await producer.settle(
      jobs.map(({ id, run }) => ({ id, run, kind: 'complete', result: 'null' })),
      other,
    )
    await rests(runtime, worker)
  })

  it.each([
    ['by a store', (store: Store) => store.enqueue(someJobs(1, 'mail', { delay: 6 * MINUTE }))],
    [
      'by SQL',
      async () => {
        const session = await sessionOn(bench)
        await session.query(`select oncue.enqueue('mail', '{"n":0}', '{"delay":${6 * MINUTE}}')`)
      },
    ],
  ])('runs a job at its time that is enqueued for later meanwhile, %s', async (_, enqueue) => {
    const ran: number[] = []
    // SQL takes the time of the server.
    const now = Date.now() - 2 * MINUTE
    const { runtime, worker, producer } = await restingOn(
      bench,
      { mail: () => void ran.push(runtime.now()) },
      { now },
    )
    await enqueue(producer)
    await until(() => !worker.stats().resting)
    const [{ runAt } = { runAt: new Date(0) }] = (await producer.list()).items
    await rests(runtime, worker)
    await until(async () => {
      await runtime.advance(SECOND)
      return ran.length > 0
    })
    expect(ran[0]).toBeGreaterThanOrEqual(runAt.getTime())
    expect(ran[0]).toBeLessThan(runAt.getTime() + MINUTE / 2)
  })

  it('finds at its next look a job that was not announced', async () => {
    const { runtime, worker, producer } = await restingOn(bench, { mail: () => null })
    const session = await sessionOn(bench)
    await producer.enqueue(someJobs(1, 'mail', { delay: 60 * MINUTE }))
    await until(() => !worker.stats().resting)
    await rests(runtime, worker)
    const at = runtime.now()
    await session.query('update oncue.jobs set run_at = $1, visible_at = $1', [new Date(at)])
    await until(async () => {
      await runtime.advance(5 * SECOND)
      return worker.stats().settled.complete === 1
    })
    expect(runtime.now() - at).toBeLessThanOrEqual(15 * MINUTE + MINUTE)
  })

  it('hears of a job whose parent ended while the job was being enqueued', async () => {
    // SQL takes the time of the server.
    const now = Date.now() + MINUTE
    const { runtime, worker, producer } = await restingOn(bench, { mail: () => null }, { now })
    const [parent = ''] = await producer.enqueue(someJobs(1, 'mail', { delay: 60 * MINUTE }))
    const session = await sessionOn(bench)
    await session.query('begin')
    await session.query(`select oncue.enqueue('mail', '{"n":1}', '{"after":["${parent}"]}')`)
    await producer.runNow([parent])
    await comes(runtime, () => worker.stats().settled.complete === 1)
    await rests(runtime, worker)
    const at = runtime.now()
    await session.query('commit')
    await comes(runtime, () => worker.stats().settled.complete === 2)
    expect(runtime.now() - at).toBeLessThan(MINUTE / 2)
  })

  it.each([
    [
      'a limit of a key is lifted',
      (store: Store) => store.limit({ concurrencyKey: 'k' }, { rate: { count: 1, intervalMs: 60 * MINUTE } }),
      (store: Store) => store.limit({ concurrencyKey: 'k' }, null),
    ],
    [
      'a pause gets an end',
      (store: Store) => store.pause('default'),
      (store: Store) => store.pause('default', undefined, 1),
    ],
  ])('runs what waits as soon as %s', async (_, hold, free) => {
    const { runtime, worker, producer } = await restingOn(bench, { mail: () => null })
    await hold(producer)
    const two = [1, 2].flatMap(() => someJobs(1, 'mail', { concurrencyKey: 'k' }))
    await producer.enqueue(two)
    await until(() => !worker.stats().resting)
    await rests(runtime, worker)
    const before = worker.stats().settled.complete
    const at = runtime.now()
    await free(producer)
    await comes(runtime, () => worker.stats().settled.complete > before)
    expect(runtime.now() - at).toBeLessThan(MINUTE / 2)
  })

  it('wakes the others when it has rested until a job was due', async () => {
    const { runtime, worker, producer } = await restingOn(bench, { mail: () => null })
    const other = await restingOn(bench, { news: () => null }, { runtime, queues: ['elsewhere'] })
    await producer.enqueue(someJobs(1, 'mail', { delay: 4 * MINUTE }))
    await until(() => !worker.stats().resting && !other.worker.stats().resting)
    await rests(runtime, worker)
    await rests(runtime, other.worker)
    await until(async () => {
      await runtime.advance(5 * SECOND)
      return worker.stats().settled.complete === 1
    })
    await until(() => !other.worker.stats().resting)
  })

  it('ticks a schedule on time', async () => {
    const ran: number[] = []
    const workers = defineWorkers(jobs, { report: () => void ran.push(runtime.now()) })
    const { runtime, worker } = await restingOn(bench, workers)
    const before = runtime.now()
    const due = Math.ceil(before / (7 * MINUTE)) * 7 * MINUTE
    await pass(runtime, due - before - 2 * SECOND, 5 * SECOND)
    expect([ran.length, worker.stats().resting]).toEqual([0, true])
    await until(async () => {
      await runtime.advance(SECOND / 2)
      return ran.length === 1
    })
    // Late by the time in which this test was slow.
    expect(runtime.now() - due).toBeLessThan(MINUTE / 2)
  })

  it('is awake when another worker dies that has claimed since, and gives its jobs back', async () => {
    const { runtime, worker, log, producer } = await restingOn(
      bench,
      { mail: () => null },
      { now: Date.now() - 30 * MINUTE },
    )
    const mortal = await bench.spawn({ maintenance: false, queues: ['elsewhere'] })
    await rests(runtime, worker)
    const [id = ''] = await producer.enqueue(someJobs(1, 'hold', { queue: 'elsewhere' }))
    await until(() => mortal.started.includes(id))
    await mortal.kill()
    const diedAt = runtime.now()
    await comes(runtime, async () => (await producer.get(id))?.status === 'pending')
    expect(await producer.get(id)).toMatchObject({ crashes: 1 })
    expect(log.of('warn')).toContain('released the runs of dead workers')
    // Well before the lease ends.
    expect(runtime.now() - diedAt).toBeLessThan(20 * SECOND)
  })

  it('leaves a database alone that has closed its connections, until its next look', async () => {
    const { runtime, log, worker, producer } = await restingOn(bench, { mail: () => null })
    const session = await sessionOn(bench)
    const mine = `from pg_stat_activity where datname = current_database()
      and (application_name in ('oncue presence ${worker.id}', 'oncue listener'))`
    expect(await session.query(`select pg_terminate_backend(pid) ${mine}`)).toEqual([[true], [true]])
    const connected = async () => Number((await session.query(`select count(*) ${mine}`))[0]?.[0])
    await until(async () => (await connected()) === 0)
    await producer.enqueue(someJobs(1, 'mail'))
    const at = runtime.now()
    const look = Math.ceil(at / (15 * MINUTE)) * 15 * MINUTE
    await pass(runtime, look - at - 10 * SECOND, 10 * SECOND)
    expect([await connected(), worker.stats().claimed, worker.stats().resting]).toEqual([0, 0, true])
    await pass(runtime, 11 * SECOND)
    await comes(runtime, () => worker.stats().settled.complete === 1)
    await until(async () => (await connected()) === 2)
    // And hears again.
    await rests(runtime, worker)
    await producer.enqueue(someJobs(1, 'mail'))
    await comes(runtime, () => worker.stats().settled.complete === 2)
    expect(log.of('error')).toEqual([])
  })

  it('does not count as missing meanwhile, and counts as one when it dies', async () => {
    const { runtime, worker, producer } = await restingOn(bench, { mail: () => null })
    const session = await sessionOn(bench)
    await pass(runtime, 5 * MINUTE, MINUTE)
    const [row] = await producer.workers()
    expect(row).toMatchObject({ id: worker.id, missingSince: null, lastBeat: await producer.now() })
    expect(await producer.rescue()).toMatchObject({ rescued: [] })
    await session.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'oncue presence ${worker.id}'`,
    )
    await until(async () => {
      await runtime.advance(SECOND / 2)
      const { rescued } = await producer.rescue()
      return rescued.some((dead) => dead.worker === worker.id)
    })
    expect(await producer.workers()).toEqual([])
    // It comes back with its next look.
    await producer.enqueue(someJobs(1, 'mail'))
    await comes(runtime, () => worker.stats().settled.complete === 1)
    expect(await producer.workers()).toMatchObject([{ id: worker.id, missingSince: null }])
  })

  it.each(['has stopped', 'is not the only one'])('leaves its store to others when it %s', async (how) => {
    const { runtime, store, worker, producer } = await restingOn(bench, { mail: () => null })
    const heard: string[] = []
    await store.onWake(['elsewhere'], () => heard.push('elsewhere'))
    if (how === 'has stopped') await worker.stop()
    else await bench.start({ store, runtime, workers: { news: () => null }, pollMs: 'auto' })
    heard.length = 0
    const session = await sessionOn(bench)
    await session.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'oncue listener'`)
    // Told once when it is connected again, and then of the job.
    await comes(runtime, () => heard.length === 1)
    await producer.enqueue(someJobs(1, 'elsewhere', { queue: 'elsewhere' }))
    await comes(runtime, () => heard.length === 2)
  })

  it('drains, and stops without waking up', async () => {
    const { runtime, worker, producer } = await restingOn(bench, { mail: () => null })
    await worker.drain()
    await rests(runtime, worker)
    await worker.stop()
    expect(await producer.workers()).toEqual([])
  })
})

it('a worker on SQLite polls as usual', async () => {
  const runtime = simulate()
  const store = await openStore(':memory:', { runtime })
  onTestFinished(() => store.close())
  const log = new TestLog()
  const worker = await startWorker({
    store,
    runtime,
    log,
    lease: 'inline',
    pollMs: 'auto',
    workers: { mail: () => null },
  })
  onTestFinished(() => worker.stop({ graceMs: 0 }))
  await pass(runtime, MINUTE)
  expect(worker.stats()).toMatchObject({ resting: false })
  expect(worker.stats().claims).toBeGreaterThan(20)
  expect(log.of('warn')).toEqual([])
})
