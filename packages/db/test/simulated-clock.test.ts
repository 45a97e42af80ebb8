import { defineJobs, job, OncueError } from '@oncue/core'
import { type Runtime, type Simulation, simulate, systemRuntime } from '@oncue/runtime'
import { observeFor } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { createQueue, type OpenOptions, openStore, type Store } from '../src/index.ts'
import { PostgresNotifier } from '../src/postgres/notifier.ts'
import { withRetries } from '../src/retry.ts'
import { whenFree } from '../src/sqlite/client.ts'
import { jobIdsOf } from '../src/uuid.ts'
import { claiming, complete, MINUTE, WORKER } from './conformance/harness.ts'
import { createSqliteDatabase, type TestDatabase } from './support/index.ts'

const jobs = defineJobs({ mail: job({ input: z.object({ to: z.string() }) }) })

describe('a store on a simulated clock', () => {
  let database: TestDatabase
  const stores: Store[] = []
  beforeEach(async () => {
    database = await createSqliteDatabase()
  })
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close()
    await database.drop()
  })

  async function open(runtime: Runtime, url = database.url): Promise<Store> {
    const store = await openStore(url, { runtime })
    stores.push(store)
    return store
  }

  it('uses it for delays, leases and schedules', async () => {
    const runtime = simulate()
    const store = await open(runtime)
    const queue = createQueue({ jobs, store, runtime })
    expect((await store.now()).getTime()).toBe(runtime.now())

    const id = await queue.enqueue('mail', { to: 'ada' }, { delay: 10 * MINUTE })
    expect((await store.claim(claiming())).jobs).toEqual([])
    await runtime.advance(10 * MINUTE)
    const [claimed] = (await store.claim(claiming({ leaseMs: MINUTE }))).jobs
    expect(claimed).toMatchObject({ id, run: 1 })

    await runtime.advance(MINUTE + 1)
    const [again] = (await store.claim(claiming())).jobs
    expect(again).toMatchObject({ id, run: 2 })
    if (again) await store.settle([complete(again)], WORKER)
    expect(await store.get(id)).toMatchObject({ status: 'completed', finishedAt: new Date(runtime.now()) })

    const hourly = {
      name: 'hourly',
      cron: '0 * * * *',
      timezone: 'UTC',
      topic: 'mail',
      payload: {},
      options: {},
    }
    await store.schedules.save({ ...hourly, missed: 'one', source: 'database' })
    expect((await store.schedules.tick()).enqueued).toEqual([])
    await runtime.advance(60 * MINUTE)
    expect((await store.schedules.tick()).enqueued).toHaveLength(1)
  })

  it('makes the same ids in the same order from the same start', async () => {
    const live = async (seed: number): Promise<unknown[]> => {
      const runtime = simulate({ seed })
      const own = await createSqliteDatabase()
      const store = await openStore(own.url, { runtime })
      const queue = createQueue({ jobs, store, runtime })
      const ids = [await queue.enqueue('mail', { to: 'ada' }), await queue.enqueue('mail', { to: 'bob' })]
      await runtime.advance(MINUTE)
      const { jobs: claimed } = await store.claim(claiming())
      await store.close()
      await own.drop()
      expect(claimed.map(({ id }) => id)).toEqual(ids)
      return claimed
    }
    expect(await live(3)).toEqual(await live(3))
    expect(await live(3)).not.toEqual(await live(4))
  })

  it('polls by it for what other stores write', async () => {
    const runtime = simulate()
    const store = await open(runtime)
    const other = await open(systemRuntime)
    const id = await createQueue({ jobs, store, runtime }).enqueue('mail', { to: 'ada' })
    const watcher = store.events.watch(id, { signal: new AbortController().signal })[Symbol.asyncIterator]()
    const seen: unknown[] = []
    const reading = watcher.next().then(({ value }) => seen.push(value))
    await runtime.advance(0)
    await other.events.append(id, null, [{ type: 'note' }])
    await observeFor(20, () => expect(seen).toEqual([]))
    await runtime.advance(50)
    await reading
    expect(seen).toMatchObject([{ type: 'note' }])
    await watcher.return?.()
    await runtime.advance(50)
    expect(runtime.timers).toBe(0)
  })
})

/** Runs it, and advances the clock until it is done. */
async function untilEnd<T>(runtime: Simulation, work: Promise<T>): Promise<T> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  work.then(end, end)
  while (!isOver) await runtime.advance(1)
  return work
}

describe('waits of the store', () => {
  const busy = () => {
    throw new OncueError('DATABASE_BUSY', 'held')
  }

  it('get longer after each attempt, with jitter', async () => {
    const runtime = simulate({ seed: 5 })
    const at: number[] = []
    const attempt = () => {
      at.push(runtime.monotonic())
      return busy()
    }
    const failing = withRetries(attempt, (error) => error as OncueError, undefined, runtime)
    await expect(untilEnd(runtime, failing)).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
    const waits = at.slice(1).map((ms, n) => ms - (at[n] ?? 0))
    expect(waits).toHaveLength(4)
    waits.forEach((ms, n) => {
      expect(ms).toBeGreaterThanOrEqual(5 * 4 ** n)
      expect(ms).toBeLessThanOrEqual(15 * 4 ** n + 1)
    })
  })

  it('for a file that another process holds end after ten seconds', async () => {
    const runtime = simulate()
    await expect(untilEnd(runtime, whenFree(busy, runtime))).rejects.toMatchObject({ code: 'DATABASE_BUSY' })
    expect(runtime.monotonic()).toBeGreaterThanOrEqual(10_000)
    expect(runtime.monotonic()).toBeLessThan(10_050)
  })

  it('between notifications of a burst are 20 ms', async () => {
    const runtime = simulate()
    const at: number[] = []
    const notifier = new PostgresNotifier(
      'oncue',
      async () => void at.push(runtime.monotonic()),
      false,
      runtime,
    )
    for (let n = 0; n < 10; n++) notifier.notify(['default'])
    await runtime.advance(5)
    notifier.notify(['default'])
    await runtime.advance(30)
    expect(at).toEqual([0, 20])
    await notifier.close()
    expect(runtime.timers).toBe(0)
  })
})

it('one runtime makes one sequence of ids', () => {
  const runtime = simulate()
  expect(jobIdsOf(runtime)).toBe(jobIdsOf(runtime))
  expect(jobIdsOf(runtime)).not.toBe(jobIdsOf(simulate()))
  expectTypeOf<Runtime | undefined>().toExtend<OpenOptions['runtime']>()
})
