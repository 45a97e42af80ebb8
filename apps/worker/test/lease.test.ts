import { randomUUID } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { JobContext } from '@oncue/core'
import { connectPostgres } from '@oncue/db/testing'
import { systemRuntime } from '@oncue/runtime'
import { eventually, observeFor } from '@oncue/testing'
import { describe, expect, it, vi } from 'vitest'
import { createLease } from '../src/lease/lease.ts'
import { ENDED, GONE, LeaseLedger, RUNNING, WAITING } from '../src/lease/ledger.ts'
import { Watchdog } from '../src/lease/watchdog.ts'
import { describeBoth, describePostgres, Gate, someJobs, TestLog, until } from './harness.ts'

describeBoth('a lease', (bench) => {
  it('is extended by its thread while a handler runs, and ends with the run', async () => {
    const store = await bench.open()
    const [id = ''] = await store.enqueue(someJobs(1, 'long'))
    const gate = new Gate()
    const workers = { long: () => gate.opened }
    const worker = await bench.start({ store, lease: 'thread', leaseMs: 3_000, workers })
    // Polls for expired leases all the time.
    const rival = await bench.start({ store: await bench.open(), pollMs: 20, workers })
    await until(() => worker.stats().running + rival.stats().running === 1)
    const lockedUntil = async () => Number((await store.get(id))?.lockedUntil)
    for (let beat = 1; beat <= 4; beat++) {
      const before = await lockedUntil()
      await until(async () => (await lockedUntil()) > before)
    }
    gate.open()
    await until(async () => (await store.get(id))?.status === 'completed')
    expect(await store.get(id)).toMatchObject({ run: 1, crashes: 0 })
  })

  it.each(['thread', 'inline'] as const)(
    'that is lost aborts the handler, and nothing is written (%s)',
    async (lease) => {
      const store = await bench.open()
      const log = new TestLog()
      const [id = ''] = await store.enqueue(someJobs(1, 'long'))
      const aborted: unknown[] = []
      const long = (_: unknown, ctx: JobContext) =>
        ctx.job.run > 1
          ? 'by the second run'
          : new Promise((resolve) => {
              ctx.signal.addEventListener('abort', () => {
                aborted.push(ctx.signal.reason)
                resolve('by the first run')
              })
            })
      const worker = await bench.start({ store, lease, leaseMs: 1_000, log, workers: { long } })
      await until(() => worker.stats().running === 1)
      await store.settle([{ id, run: 1, kind: 'release' }])
      await until(async () => (await store.get(id))?.status === 'completed')
      expect(await store.get(id)).toMatchObject({ run: 2, result: 'by the second run' })
      await until(() => aborted.length === 1)
      expect(aborted).toMatchObject([{ code: 'STALE_RUN' }])
      await until(() => worker.stats().running === 0)
      expect(worker.stats()).toMatchObject({ lost: 1, stale: 0 })
      expect(log.of('warn')).toContainEqual(expect.stringContaining('run lost its lease; aborting it'))
    },
  )

  it('delivers a cancel to the handler', async () => {
    const store = await bench.open()
    const [id = ''] = await store.enqueue(someJobs(1, 'long'))
    const long = (_: unknown, { signal }: JobContext) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const worker = await bench.start({ store, lease: 'thread', leaseMs: 1_000, workers: { long } })
    await until(() => worker.stats().running === 1)
    await store.cancel([id])
    await until(async () => (await store.get(id))?.status === 'cancelled')
  })

  it('is extended by another thread when the first one dies', async () => {
    const threads = vi.spyOn(Worker.prototype, 'postMessage')
    const store = await bench.open()
    const log = new TestLog()
    const [id = ''] = await store.enqueue(someJobs(1, 'long'))
    const gate = new Gate()
    const workers = { long: () => gate.opened }
    const worker = await bench.start({ store, log, lease: 'thread', workers })
    await until(() => worker.stats().running === 1)
    const [first] = threads.mock.contexts as Worker[]
    threads.mockRestore()
    await first?.terminate()
    expect(log.of('error')).toContainEqual(expect.stringContaining('restarting it'))
    const diedAt = new Date()
    // A heartbeat shows in `updated`.
    await until(async () => ((await store.get(id))?.updated ?? 0) > diedAt)
    gate.open()
    await until(async () => (await store.get(id))?.status === 'completed')
    expect(await store.get(id)).toMatchObject({ run: 1, crashes: 0 })
  })

  it('is extended for prefetched runs too, which do not count as started', async () => {
    const store = await bench.open()
    const gate = new Gate()
    const workers = { short: async () => null, long: () => gate.opened }
    await store.enqueue(someJobs(100, 'short'))
    const worker = await bench.start({ store, concurrency: 1, leaseMs: 400, workers })
    await worker.drain()
    const ids = await store.enqueue(someJobs(3, 'long'))
    await until(() => worker.stats().prefetched === 2)
    const jobs = () => Promise.all(ids.map((id) => store.get(id)))
    // A heartbeat shows in `updated`.
    const claimedAt = (await jobs()).map((job) => job?.updated.getTime() ?? 0)
    await until(async () =>
      (await jobs()).every((job, n) => (job?.updated.getTime() ?? 0) > (claimedAt[n] ?? 0)),
    )
    expect((await jobs()).map((job) => job?.startedAt === null)).toEqual([false, true, true])
    gate.open()
  })

  it('of a prefetched job that ran before without being charged is charged before it starts', async () => {
    const store = await bench.open()
    const started: (Date | null | undefined)[] = []
    const again = async ({ id }: { id: string }) => {
      started.push((await store.get(id))?.startedAt)
    }
    await store.enqueue(someJobs(100, 'short'))
    const worker = await bench.start({ store, concurrency: 1, workers: { short: async () => null, again } })
    await worker.drain()
    const ids = await store.enqueue(someJobs(3, 'again'))
    await worker.drain()
    // The first job found a free slot; the others were prefetched, and too short for a heartbeat.
    expect(started.map((at) => at instanceof Date)).toEqual([true, false, false])
    started.length = 0
    await store.requeue(ids)
    await worker.drain()
    expect(started.map((at) => at instanceof Date)).toEqual([true, true, true])
  })
})

describe('the ledger', () => {
  it('has the state of a run, and nothing of it once another run has its position', () => {
    const ledger = new LeaseLedger(2)
    const seen = new LeaseLedger(ledger.buffer)
    const first = ledger.nextGeneration(1)
    for (const state of [WAITING, RUNNING, ENDED, GONE] as const) {
      ledger.write(1, first, state)
      expect(seen.read(1, first)).toBe(state)
    }
    const second = ledger.nextGeneration(1)
    ledger.write(1, second, RUNNING)
    expect(seen.read(1, first)).toBe(GONE)
    expect(seen.read(1, second)).toBe(RUNNING)
    expect(seen.read(0, ledger.nextGeneration(0))).toBe(GONE)
  })

  it('wraps generations around', () => {
    const ledger = new LeaseLedger(1)
    ledger.write(0, 2 ** 29 - 1, RUNNING)
    expect(ledger.read(0, 2 ** 29 - 1)).toBe(RUNNING)
    expect(ledger.nextGeneration(0)).toBe(0)
  })
})

describe('the watchdog', () => {
  const ABANDON_MS = 5_000
  const run = (timeoutMs: number, runningSince: number | null) =>
    ({
      id: 'x',
      run: 1,
      position: 0,
      generation: 1,
      beatenAt: 0,
      isCancelled: false,
      timeoutMs,
      runningSince,
    }) as never

  /** Checks once a second up to `seconds`; the pulse of the main thread stops after `pulses` of them. */
  function look(
    runs: never[],
    pulses: number,
    seconds: number,
    skip: (second: number) => boolean = () => false,
  ) {
    const ledger = new LeaseLedger(1)
    const dog = new Watchdog(ledger, ABANDON_MS)
    for (let second = 0; second <= seconds; second++) {
      if (second < pulses) ledger.beatPulse()
      if (!skip(second) && dog.overdue(runs, second * 1_000).length > 0) return second
    }
    return null
  }

  it('finds a run that blocks the event loop past timeout, patience and a second', () => {
    expect(look([run(3_000, 0)], 1, 60)).toBe(10)
  })

  it('ignores a run while the event loop turns: the executor handles that', () => {
    expect(look([run(3_000, 0)], 100, 60)).toBe(null)
  })

  it('ignores a blocked event loop while no run is past its timeout', () => {
    expect(look([run(600_000, 0), run(1, null)], 1, 60)).toBe(null)
  })

  it('does not mistake a pause of the whole process for a blocked event loop', () => {
    // The whole process was paused from 2 to 30, and the main thread turns again soon after.
    expect(look([run(3_000, 0)], 100, 30, (second) => second > 2 && second < 30)).toBe(null)
    expect(look([run(3_000, 0)], 3, 30, (second) => second > 2 && second < 30)).toBe(null)
  })
})

describePostgres('a lease and other transactions', (bench) => {
  it('a run whose row is locked by another transaction is reported, and extended once it is free', async () => {
    const store = await bench.open()
    const log = new TestLog()
    const [id = ''] = await store.enqueue(someJobs(1, 'long'))
    const gate = new Gate()
    const worker = await bench.start({ store, log, workers: { long: () => gate.opened } })
    await until(() => worker.stats().running === 1)
    const other = await connectPostgres(bench.url)
    bench.defer(() => other.end())
    await other.query('begin')
    await other.query('select from oncue.jobs where id = $1 for share', [id])
    const before = (await store.get(id))?.lockedUntil ?? new Date()
    await until(() => log.of('warn').some((line) => line.includes('another transaction holds a lock')))
    expect((await store.get(id))?.lockedUntil).toEqual(before)
    await other.query('commit')
    await until(async () => ((await store.get(id))?.lockedUntil ?? 0) > before)
    gate.open()
    await until(async () => (await store.get(id))?.status === 'completed')
    expect(await store.get(id)).toMatchObject({ run: 1 })
  })
})

describePostgres('a lease thread', (bench) => {
  it('sends nothing while its worker rests, not even to reconnect, and is present when it has resumed', async () => {
    const session = await connectPostgres(bench.url)
    bench.defer(() => session.end())
    const store = await bench.open()
    const id = randomUUID()
    const lease = createLease('thread', {
      store,
      worker: { id, host: 'here', pid: 1, queues: ['default'], concurrency: 1, version: '1' },
      leaseMs: 30_000,
      abandonMs: 1_000,
      ledger: new LeaseLedger(1),
      log: new TestLog(),
      runtime: systemRuntime,
      policies: { byTopic: {}, fallback: null },
      owned: () => [],
      onLost() {},
      onCancelled() {},
      onRescued() {},
    })
    bench.defer(() => lease.stop())
    await lease.start()
    const sent = async () => {
      const [[at] = []] =
        await session.query(`select coalesce(max(query_start), '-infinity')::text from pg_stat_activity
        where datname = current_database() and application_name like 'oncue%'`)
      return at
    }
    const present = `from pg_stat_activity where application_name = 'oncue presence ${id}'`
    const first = await sent()
    await until(async () => (await sent()) !== first)
    lease.rest()
    expect(await session.query(`select pg_terminate_backend(pid) ${present}`)).toEqual([[true]])
    await eventually(async () => {
      const last = await sent()
      // A worker that does not rest looks for dead ones every second.
      await observeFor(1_500, async () => expect(await sent()).toBe(last))
    })
    expect(await session.query(`select pid ${present}`)).toEqual([])
    await lease.resume()
    expect(await session.query(`select pid ${present}`)).toHaveLength(1)
    expect(await store.workers()).toMatchObject([{ id, missingSince: null }])
  })
})
