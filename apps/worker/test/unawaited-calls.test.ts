import {
  defineJobs,
  defineWorkers,
  isOncueError,
  type JobContext,
  job,
  PermanentError,
  type Transactions,
} from '@oncue/core'
import { idsIn, transactionHosts } from '@oncue/db/testing/transactions'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createTestWorker } from '../src/testing.ts'
import { Execution } from './execution.ts'
import { Bench, describeBoth, Gate, until } from './harness.ts'

const SECOND = 1_000

const jobs = defineJobs({
  order: job({
    input: z.unknown(),
    signals: { go: z.null() },
    retry: { max: 3, strategy: 'fixed', baseDelay: SECOND },
  }),
  page: job({ input: z.object({ n: z.int() }) }),
})
type Order = Parameters<typeof defineWorkers<typeof jobs, Transactions>>[1]['order']

async function testOf(bench: Bench, order: Order, transactions?: Transactions) {
  const workers = defineWorkers(
    jobs,
    { order, page: () => null },
    { transactions: transactions as Transactions },
  )
  const test = await createTestWorker({ jobs, workers, url: bench.url })
  bench.defer(() => test.close())
  const topics = async () => {
    const { items } = await test.store.list()
    return items.map(({ topic }) => topic).sort()
  }
  return { test, topics }
}

const codeOf = (error: unknown) => (isOncueError(error) ? error.code : String(error))

describeBoth('a call that the handler has not awaited when it ends', (bench) => {
  it('is stored, if it is a spawn or an enqueue of a resumed run', async () => {
    const { test, topics } = await testOf(bench, async (_, ctx) => {
      await ctx.receive('go')
      void ctx.spawn('page', { n: 1 })
      void ctx.enqueue('page', { n: 2 })
    })
    const id = await test.enqueue('order', null)
    await test.drain()
    await test.signal(id, 'go', null)
    await test.drain()
    expect(await topics()).toEqual(['order', 'page', 'page'])
    expect((await test.store.get(id))?.status).toBe('completed')
  })

  it('counts, if it is an undo of a handler that fails', async () => {
    const undone: string[] = []
    const { test } = await testOf(bench, async (_, ctx) => {
      void ctx.undo('unbook', () => void undone.push('unbook'))
      throw new PermanentError('sold out')
    })
    const id = await test.enqueue('order', null)
    await test.drain()
    expect([(await test.store.get(id))?.status, undone]).toEqual(['failed', ['unbook']])
  })

  it('is not repeated, if it is a step beside one that failed; that one is', async () => {
    const done: string[] = []
    const { test } = await testOf(bench, async ({ run }, ctx) => {
      const declined = new Gate()
      const charge = async () => {
        await declined.opened
        done.push(`charge ${run}`)
        return run
      }
      const check = () => {
        done.push(`check ${run}`)
        if (run === 1) throw new Error('declined')
      }
      try {
        return await Promise.all([ctx.step('charge', charge), ctx.step('check', check)])
      } finally {
        declined.open()
      }
    })
    const id = await test.enqueue('order', null)
    await test.drain()
    await test.advance(SECOND)
    expect(done).toEqual(['check 1', 'charge 1', 'check 2'])
    expect(await test.store.get(id)).toMatchObject({ status: 'completed', result: [1, null] })
  })

  it('is the last: no other begins', async () => {
    const codes: string[] = []
    const late: string[] = []
    const { test } = await testOf(bench, async (_, ctx) => {
      const first = ctx.step('first', () => 1)
      void first
        .then(() => ctx.step('late', () => late.push('late')))
        .catch((error) => codes.push(codeOf(error)))
      throw new PermanentError('no')
    })
    const id = await test.enqueue('order', null)
    await test.drain()
    await until(() => codes.length > 0)
    expect([codes, late]).toEqual([['STALE_RUN'], []])
    const outcomes = await test.store.durable.outcomes(id)
    expect(outcomes.map(({ key }) => key)).toEqual(['step:first'])
  })

  it('does not hold a run whose handler has returned, if it is a step', async () => {
    const { test } = await testOf(bench, async (_, ctx) =>
      Promise.race([ctx.step('endless', () => new Promise(() => {})), ctx.step('short', () => 1)]),
    )
    expect(await test.run('order', null)).toMatchObject({ status: 'completed', result: 1 })
  })

  it('begins no other attempt once its run has ended, if it is a step', async () => {
    const codes: string[] = []
    let attempts = 0
    const { test } = await testOf(bench, async (_, ctx) => {
      const failed = new Gate()
      const flaky = () => {
        attempts += 1
        failed.open()
        throw new Error('no')
      }
      const retry = { max: 3, strategy: 'fixed', baseDelay: SECOND / 2 } as const
      void ctx.step('flaky', flaky, { retry }).catch((error) => codes.push(codeOf(error)))
      await failed.opened
    })
    const id = await test.enqueue('order', null)
    await test.drain()
    await test.advance(SECOND)
    await until(() => codes.length > 0)
    expect((await test.store.get(id))?.status).toBe('completed')
    expect([attempts, codes]).toEqual([1, ['STALE_RUN']])
  })

  it('does not hold a run for longer than its timeout', async () => {
    const raced = new Gate()
    const workers = defineWorkers(jobs, {
      async order(_, ctx) {
        await Promise.race([ctx.step('endless', () => new Promise(() => {})), ctx.step('short', () => 1)])
        raced.open()
        throw new Error('no')
      },
      page: () => null,
    })
    const execution = await Execution.on(bench, workers)
    const run = await execution.start('order')
    await raced.opened
    run.abort('timeout')
    expect((await run.ended).settlement).toMatchObject({ kind: 'retry' })
  })
})

const LIBRARIES = transactionHosts.filter(({ name, dialect }) =>
  (dialect === 'postgres' ? ['pg'] : ['better-sqlite3', 'Kysely']).includes(name),
)

describe.each(LIBRARIES)('ctx.complete with $name, on $dialect', (host) => {
  const bench = new Bench(host.dialect)

  type Call = (ctx: JobContext, ended: Gate) => unknown
  const CALLS: Record<string, Call> = {
    'step "charge"': (ctx, { opened }) => ctx.step('charge', () => opened),
    'undo "refund"': (ctx) => ctx.undo('refund', () => {}),
    'spawn "page#1"': (ctx) => ctx.spawn('page' as never, { n: 1 } as never),
    'enqueue "mine"': (ctx) => ctx.enqueue('page', { n: 1 }, { name: 'mine' }),
  }

  it('is refused before other calls have ended, and writes nothing', async () => {
    const service = await host.open(bench.url)
    bench.defer(() => service.close())
    const { transactions, run } = service
    await transactions.open((tx) => run(tx, 'create table booked (id text)'))
    const order: Order = async ({ payload, retries }, ctx) => {
      const name = String(payload)
      const call = CALLS[name] as Call
      const ended = new Gate()
      // The retry does it right.
      if (retries > 0) {
        ended.open()
        await call(ctx, ended)
      }
      const complete = (tx: unknown) => {
        if (retries === 0) void call(ctx, ended)
        return ctx.complete(tx)
      }
      const end = (tx: unknown) => {
        const ran = run(tx, `insert into booked values ('${name} ${retries}')`)
        if (transactions.mode === 'sync') return void complete(tx)
        return Promise.resolve(ran).then(() => complete(tx))
      }
      await transactions.open(end).finally(() => ended.open())
    }
    const { test, topics } = await testOf(bench, order, transactions)
    const names = Object.keys(CALLS)
    const ids = await Promise.all(names.map((name) => test.enqueue('order', name)))
    await test.drain()
    for (const [n, id] of ids.entries()) {
      const message = expect.stringContaining(names[n] as string)
      expect((await test.store.get(id))?.lastError).toMatchObject({ code: 'NOT_AWAITED', message })
    }
    expect(await idsIn(bench.url, 'booked')).toEqual([])
    await test.advance(SECOND)
    expect(await idsIn(bench.url, 'booked')).toEqual(names.map((name) => `${name} 1`).sort())
    // Each page was made once, though both runs called for it.
    expect(await topics()).toEqual([...names.map(() => 'order'), 'page', 'page'])
  })

  it('is no obstacle to calls that a commit overtakes', async () => {
    const service = await host.open(bench.url)
    bench.defer(() => service.close())
    const { transactions, run } = service
    await transactions.open((tx) => run(tx, 'create table booked (id text)'))
    const { test, topics } = await testOf(
      bench,
      async (_, ctx) => {
        void ctx.spawn('page', { n: 1 })
        await ctx.commit('row', (tx) => {
          const ran = run(tx, `insert into booked values ('a')`)
          return (transactions.mode === 'sync' ? undefined : Promise.resolve(ran).then(() => {})) as never
        })
      },
      transactions,
    )
    const id = await test.enqueue('order', null)
    await test.drain()
    expect((await test.store.get(id))?.status).toBe('completed')
    expect([await topics(), await idsIn(bench.url, 'booked')]).toEqual([['order', 'page'], ['a']])
  })
})
