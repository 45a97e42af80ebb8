import { readFile } from 'node:fs/promises'
import { type JobContext, OncueError, type RunningJob } from '@oncue/core'
import { openStore, type Store } from '@oncue/db'
import { connectPostgres, type PostgresSession, startPostgres } from '@oncue/db/testing'
import { Relay } from '@oncue/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { startWorker, type WorkerOptions } from '../src/index.ts'
import { type Bench, describeBoth, describePostgres, Gate, nap, someJobs, TestLog, until } from './harness.ts'
import { TOO_MANY } from './too-many-clients.ts'

async function proxyTo(bench: Bench): Promise<Relay> {
  const proxy = await Relay.start(bench.url)
  bench.defer(() => proxy.close())
  return proxy
}

async function sessionOn(bench: Bench): Promise<PostgresSession> {
  const session = await connectPostgres(bench.url)
  bench.defer(() => session.end())
  return session
}

/** Lets real time pass, where the test measures something that needs it. */
async function pass(ms: number): Promise<void> {
  const over = performance.now() + ms
  await until(() => performance.now() >= over, ms + 10_000)
}

const REPORT = 'claiming and settling jobs failed'
const reports = (log: TestLog) => log.of('error').filter((line) => line.startsWith(REPORT)).length

describeBoth('ends that cannot be written', (bench) => {
  it('are kept and written later; meanwhile few jobs are claimed and few writes are tried', async () => {
    const store = await bench.open()
    let isAway = true
    let attempts = 0
    const away = async () => {
      attempts += 1
      throw new OncueError('DATABASE_UNAVAILABLE', 'away')
    }
    /** The real store, whose settles fail for a while. */
    const faulty: Store = new Proxy(store, {
      get(target, name) {
        if (name === 'settleAndClaim') {
          const claim: Store['settleAndClaim'] = (ends, request) =>
            isAway && ends.length > 0 ? away() : target.settleAndClaim(ends, request)
          return claim
        }
        if (name === 'settle') return (ends: []) => (isAway && ends.length > 0 ? away() : target.settle(ends))
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    await store.enqueue(someJobs(3_000, 'mail'))
    const log = new TestLog()
    let runs = 0
    const mail = () => {
      runs += 1
    }
    const worker = await bench.start({ store: faulty, leaseMs: 1_000, log, workers: { mail } })
    await until(() => worker.stats().unsettled > 0)
    // Longer than the lease: the runs get heartbeats until their ends are written.
    await pass(1_500)
    expect(worker.stats()).toMatchObject({ running: 0, stale: 0 })
    // Ten slots, and a batch that was requested before the first write failed.
    expect(worker.stats().claimed).toBeLessThanOrEqual(510)
    expect(attempts).toBeLessThan(20)
    expect(reports(log)).toBe(1)
    isAway = false
    await worker.drain()
    expect(log.of('info')).toContainEqual(expect.stringContaining('works again'))
    expect(worker.stats()).toMatchObject({ unsettled: 0, stale: 0 })
    expect(runs).toBe(3_000)
    expect(await store.stats()).toMatchObject({ completed: 3_000, pending: 0, processing: 0 })
  })
})

describeBoth('a claim whose result was lost', (bench) => {
  it.each(['and so is the connection', 'alone'])('is recovered before a drain ends: %s', async (what) => {
    const store = await bench.open()
    let isLost = false
    let isAway = what !== 'alone'
    /** The real store, which loses the result of the first claim of a drain. */
    const faulty: Store = new Proxy(store, {
      get(target, name) {
        if (name === 'settleAndClaim') {
          const claim: Store['settleAndClaim'] = async (ends, request) => {
            if (!request.thorough || isLost) return target.settleAndClaim(ends, request)
            isLost = true
            await target.enqueue(someJobs(1, 'mail'))
            return { ...(await target.settleAndClaim(ends, request)), jobs: [], unanswered: true }
          }
          return claim
        }
        if (name === 'throttled' && isAway) {
          isAway = false
          return () => Promise.reject(new OncueError('DATABASE_UNAVAILABLE', 'away'))
        }
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const worker = await bench.start({ store: faulty, workers: { mail: () => {} } })
    await worker.drain()
    expect(isLost).toBe(true)
    expect(await store.stats()).toMatchObject({ completed: 1, processing: 0, pending: 0 })
  })
})

describePostgres('a worker on a Postgres', (bench) => {
  it('whose backends are terminated under load continues, and runs each job once', async () => {
    const session = await sessionOn(bench)
    const store = await bench.open()
    const log = new TestLog()
    const runs = new Map<string, number>()
    const count = ({ id }: { id: string }) => {
      runs.set(id, (runs.get(id) ?? 0) + 1)
      return nap(5)
    }
    const worker = await bench.start({
      store,
      lease: 'thread',
      log,
      concurrency: 20,
      workers: { nap: count },
    })
    const ids = await store.enqueue(someJobs(4_000, 'nap'))
    for (let cut = 1; cut <= 5; cut++) {
      await until(() => worker.stats().settled.complete > cut * 500)
      await session.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name like 'oncue%' and datname = current_database()`,
      )
    }
    await worker.drain()
    expect(await store.stats()).toMatchObject({ completed: 4_000, pending: 0, processing: 0 })
    expect(worker.stats()).toMatchObject({ unsettled: 0, lost: 0 })
    expect(ids.filter((id) => runs.get(id) !== 1)).toEqual([])
  })

  it('whose presence is cut and restored keeps its runs', async () => {
    const session = await sessionOn(bench)
    const store = await bench.open()
    const [id = ''] = await store.enqueue(someJobs(1, 'long'))
    const gate = new Gate()
    const workers = { long: () => gate.opened }
    const worker = await bench.start({ store, lease: 'thread', workers })
    await until(() => worker.stats().running === 1)
    const rival = await bench.start({ store: await bench.open(), workers })
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1`
    expect(await session.query(cut, [`oncue presence ${worker.id}`])).toEqual([[true]])
    // The rival polls once a second, and declares a worker dead that is missing for most of one.
    await pass(2_500)
    expect(rival.stats().running).toBe(0)
    gate.open()
    await until(async () => (await store.get(id))?.status === 'completed')
    expect(await store.get(id)).toMatchObject({ run: 1, crashes: 0 })
  })

  it('that has no connection left: reports it, retries now and then, and continues when there are some', async () => {
    const proxy = await proxyTo(bench)
    const outside = await bench.open()
    const store = await bench.open({ url: proxy.url })
    const log = new TestLog()
    const worker = await bench.start({ store, log, workers: { mail: () => null } })
    await outside.enqueue(someJobs(100, 'mail'))
    await worker.drain()
    proxy.refusal = TOO_MANY
    proxy.cut()
    await until(() => reports(log) === 1)
    const { claims } = worker.stats()
    await outside.enqueue(someJobs(100, 'mail'))
    await pass(2_000)
    expect(worker.stats().claims - claims).toBeLessThan(10)
    expect(reports(log)).toBe(1)
    expect(proxy.counts.refused).toBeGreaterThan(0)
    expect(proxy.counts.refused).toBeLessThan(200)
    proxy.refusal = undefined
    await worker.drain()
    expect(await outside.stats()).toMatchObject({ completed: 200, pending: 0, processing: 0 })
    expect(log.of('info')).toContainEqual(expect.stringContaining('claiming and settling jobs works again'))
  })

  it.each([
    ['a claim', 'oncue.claim_', 'before the first run'],
    ['a settle and claim', 'oncue.settle_and_claim_', 'with its end'],
  ] as const)(
    'that loses the answer to %s: what it took is given back uncharged, and runs',
    async (...row) => {
      const [, statement, when] = row
      const proxy = await proxyTo(bench)
      const outside = await bench.open()
      const store = await bench.open({ url: proxy.url })
      const log = new TestLog()
      const gate = new Gate()
      const runs: string[] = []
      const mail = ({ id }: RunningJob) => {
        runs.push(id)
        return gate.opened
      }
      const worker = await bench.start({ store, log, concurrency: 1, workers: { mail } })
      await worker.drain()
      if (when === 'before the first run') proxy.loseAnswerTo = statement
      const ids = await outside.enqueue(someJobs(5, 'mail'))
      await until(() => worker.stats().running === 1)
      if (when === 'with its end') proxy.loseAnswerTo = statement
      gate.open()
      await until(() => worker.stats().settled.complete === 5)
      const jobs = await Promise.all(ids.map((id) => outside.get(id)))
      expect(jobs).toMatchObject(ids.map(() => ({ status: 'completed', retries: 0, crashes: 0 })))
      const count = jobs.filter((job) => job?.run === 2).length
      expect(count).toBeGreaterThan(0)
      expect(log.lines).toContainEqual({
        level: 'warn',
        message: expect.stringContaining('whose response was lost'),
        fields: { count },
      })
      expect([...runs].sort()).toEqual([...ids].sort())
      expect(worker.stats()).toMatchObject({ stale: 0, lost: 0, unsettled: 0 })
    },
  )

  it('whose connections are half-open: hanging calls time out, and both claims and events use new connections', async () => {
    const proxy = await proxyTo(bench)
    const outside = await bench.open()
    const store = await bench.open({ url: proxy.url, poolSize: 2 })
    const gate = new Gate()
    const chatty = async (_: unknown, ctx: JobContext) => {
      await gate.opened
      ctx.log.info('the last words')
    }
    const [id = ''] = await outside.enqueue(someJobs(1, 'chatty'))
    const worker = await bench.start({ store, pollMs: 200, workers: { chatty, mail: () => null } })
    await until(() => worker.stats().running === 1)
    expect(proxy.freeze('oncue')).toBeGreaterThan(0)
    gate.open()
    await outside.enqueue(someJobs(1, 'mail'))
    await until(() => worker.stats().settled.complete === 2, 55_000)
    expect(await outside.get(id)).toMatchObject({ status: 'completed', run: 1 })
    expect(worker.stats()).toMatchObject({ stale: 0, lost: 0 })
  })

  it('that keeps its only connection busy: waits for it, without retrying in between', async () => {
    const session = await sessionOn(bench)
    const outside = await bench.open()
    const store = await bench.open({ poolSize: 1 })
    const log = new TestLog()
    const gate = new Gate()
    const workers = { long: () => gate.opened, mail: () => null }
    const worker = await bench.start({ store, log, pollMs: 50, workers })
    await outside.enqueue(someJobs(5, 'long'))
    await until(() => worker.stats().running === 5)
    await session.query('begin')
    await session.query('lock table oncue.jobs in access exclusive mode')
    const { claims } = worker.stats()
    gate.open()
    await pass(1_500)
    expect(worker.stats().claims - claims).toBeLessThanOrEqual(2)
    expect(worker.stats().unsettled).toBe(5)
    await session.query('commit')
    await outside.enqueue(someJobs(100, 'mail'))
    await until(() => worker.stats().settled.complete === 105)
    expect(await outside.stats()).toMatchObject({ completed: 105, processing: 0, pending: 0 })
    expect(worker.stats()).toMatchObject({ stale: 0, lost: 0 })
    expect(reports(log)).toBe(0)
  })

  it('that disappears silently: stops all the same, and reports what it could not write', async () => {
    const proxy = await proxyTo(bench)
    const outside = await bench.open()
    const store = await openStore(proxy.url)
    const log = new TestLog()
    const gate = new Gate()
    const chatty = async (_: unknown, ctx: JobContext) => {
      await gate.opened
      ctx.log.info('the last words')
    }
    const patient = async (_: unknown, ctx: JobContext) => {
      ctx.log.info('the first words')
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      ctx.log.info('the last words')
    }
    await outside.enqueue([...someJobs(1, 'quiet'), ...someJobs(1, 'chatty'), ...someJobs(1, 'patient')])
    const workers = { quiet: () => gate.opened, chatty, patient }
    const worker = await bench.start({ store, log, lease: 'thread', maintenance: {}, workers })
    await until(() => worker.stats().running === 3)
    proxy.vanish()
    gate.open()
    const began = performance.now()
    await worker.stop({ graceMs: 500 })
    // Ten seconds for the last writes, and three each for parts that sign off.
    expect(performance.now() - began).toBeLessThan(25_000)
    expect(log.of('error')).toContainEqual(expect.stringContaining('stopped before all runs were settled'))
    expect(log.of('info').at(-1)).toBe('worker stopped')
    await proxy.close()
    await store.close()
  })

  it('whose listening connection is half-open: polls find the jobs, at the usual rate', async () => {
    const proxy = await proxyTo(bench)
    const store = await bench.open({ url: proxy.url })
    const worker = await bench.start({ store, pollMs: 300, workers: { mail: () => null } })
    await worker.drain()
    expect(proxy.freeze('oncue listener')).toBe(1)
    const { claims } = worker.stats()
    const outside = await bench.open()
    const began = performance.now()
    for (let n = 1; n <= 3; n++) {
      await outside.enqueue(someJobs(1, 'mail'))
      await until(() => worker.stats().settled.complete === n)
    }
    const polls = (performance.now() - began) / 300
    // Each job also costs the claim that comes with its settle, and one more poll.
    expect(worker.stats().claims - claims).toBeLessThan(polls + 3 * 3 + 2)
  })
})

describe('a worker on a Postgres of its own', () => {
  /** Cleaned up after the test, last to first. */
  const cleanups: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  async function serve(workers: WorkerOptions['workers'], settings: Record<string, string> = {}) {
    const server = await startPostgres({ settings })
    cleanups.push(() => server.stop())
    const store = await openStore(server.url, { migrate: true })
    cleanups.push(() => store.close())
    const log = new TestLog()
    const worker = await startWorker({ store, log, workers })
    cleanups.push(() => worker.stop({ graceMs: 0 }))
    return { server, store, log, worker }
  }

  it('that is killed and restarted under load: reports it once each time, loses nothing', async () => {
    const { server, store, log, worker } = await serve({ nap: () => nap(5) })
    const ids = await store.enqueue(someJobs(2_000, 'nap'))
    for (let kill = 1; kill <= 2; kill++) {
      await until(() => worker.stats().settled.complete > kill * 300)
      await server.kill()
      await until(() => reports(log) === kill)
      const { claims } = worker.stats()
      await pass(1_000)
      expect(worker.stats().claims - claims).toBeLessThan(10)
      await server.start()
      await until(
        () => log.of('info').filter((line) => line.includes('settling jobs works again')).length === kill,
      )
    }
    await worker.drain()
    expect(await store.stats()).toMatchObject({ completed: 2_000, pending: 0, processing: 0, failed: 0 })
    const jobs = await Promise.all(ids.slice(0, 50).map((id) => store.get(id)))
    expect(jobs.every((job) => job?.crashes === 0 && job.retries === 0)).toBe(true)
  })

  it('sends it at most two statements a second when there is nothing to do', async () => {
    const { server, worker } = await serve({ mail: () => null }, { log_statement: 'all' })
    const statements = async () =>
      (await readFile(server.logFile, 'utf8'))
        .split('\n')
        .filter((line) => /LOG: +(statement|execute)/.test(line))
    // It takes a few claims to find that the queue is idle.
    await until(() => worker.stats().claims > 4)
    const before = await statements()
    const began = performance.now()
    await pass(16_000)
    const sent = (await statements()).slice(before.length)
    const seconds = (performance.now() - began) / 1_000
    // Measured: 1.8. Something that happens every ten seconds or so may fall into this window once more than on
    // average.
    expect(sent.length, sent.join('\n')).toBeLessThanOrEqual(2 * seconds + 2)
  })
})
