import { defineJobs, defineWorkers, job, PermanentError } from '@oncue/core'
import { idsIn, type TransactionService, transactionHosts } from '@oncue/db/testing/transactions'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createTestWorker, type TestWorkerOptions } from '../src/testing.ts'
import { Bench } from './harness.ts'

const jobs = defineJobs({
  book: job({
    input: z.object({ id: z.string() }),
    output: z.object({ booked: z.string() }),
    signals: { go: z.null() },
    retry: { max: 3, strategy: 'fixed', baseDelay: 1_000 },
  }),
  follow: job({ input: z.unknown(), output: z.string() }),
  parent: job({ input: z.object({ id: z.string() }), output: z.unknown() }),
})
type Handlers = Parameters<typeof defineWorkers<typeof jobs, TransactionService['transactions']>>[1]

for (const host of transactionHosts) {
  describe(`commit and complete with ${host.name}, on ${host.dialect}`, () => {
    const bench = new Bench(host.dialect)

    /** A service with a table of its own, and a test worker on the same database. */
    async function world(handlers: (service: TransactionService) => Handlers) {
      const service = await host.open(bench.url)
      bench.defer(() => service.close())
      const { transactions, run } = service
      await transactions.open((tx) => run(tx, 'create table booked (id text)'))
      const workers = defineWorkers(jobs, handlers(service), { transactions })
      const test = await createTestWorker({ jobs, workers, url: bench.url } as TestWorkerOptions<typeof jobs>)
      bench.defer(() => test.close())
      return { test, service, booked: () => idsIn(bench.url, 'booked') }
    }

    /** For libraries that are synchronous: no await before the end. */
    const andThen = (ran: unknown, next: () => unknown): unknown =>
      typeof ran === 'object' && ran !== null && 'then' in ran ? Promise.resolve(ran).then(next) : next()

    it('stores rows and result together, once for the job', async () => {
      let works = 0
      const { test, booked } = await world(({ run }) => ({
        async book({ payload }, ctx) {
          const said = await ctx.commit('row', (tx) => {
            works += 1
            return andThen(run(tx, `insert into booked values ('${payload.id}')`), () => ({
              n: works,
            })) as never
          })
          await ctx.receive('go')
          return { booked: JSON.stringify(said) }
        },
      }))
      const id = await test.enqueue('book', { id: 'a' })
      await test.drain()
      expect(await booked()).toEqual(['a'])
      await test.signal(id, 'go', null)
      const [done] = await test.drain()
      expect([done?.status, done?.result, works]).toEqual(['completed', { booked: '{"n":1}' }, 1])
      const outcomes = await test.store.durable.outcomes(id)
      expect(outcomes.map(({ key, kind }) => [key, kind])[0]).toEqual(['step:row', 'step'])
      const events = await test.store.events.list(id)
      expect(events.find(({ type }) => type === 'step_finished')?.data).toEqual({
        name: 'row',
        result: { n: 1 },
      })
    })

    it('stores neither if the work throws', async () => {
      const { test, booked } = await world(({ run }) => ({
        async book({ payload }, ctx) {
          if (ctx.attempt === 1)
            await ctx.commit('row', (tx) =>
              andThen(run(tx, `insert into booked values ('${payload.id}')`), () => {
                throw new Error('no')
              }),
            )
          await ctx.commit('row', (tx) => void run(tx, 'select 1') as never)
          return { booked: '' }
        },
      }))
      const failed = await test.run('book', { id: 'a' })
      expect([failed.status, failed.lastError?.message]).toEqual(['pending', 'no'])
      expect(await booked()).toEqual([])
      expect(await test.store.durable.outcomes(failed.id)).toEqual([])
    })

    it('rolls back the rows of a run that has lost its job', async () => {
      const { test, booked } = await world(({ run }) => ({
        async book({ id, run: n, payload }, ctx) {
          await test.store.settle([{ id, run: n, kind: 'release' }])
          await ctx.commit('row', (tx) => run(tx, `insert into booked values ('${payload.id}')`) as never)
          return { booked: payload.id }
        },
      }))
      const lost = await test.run('book', { id: 'a' })
      expect([lost.status, await booked()]).toEqual(['pending', []])
      expect(await test.store.durable.outcomes(lost.id)).toEqual([])
    })

    it('completes its job in its own transaction', async () => {
      const { test, service, booked } = await world(({ transactions, run }) => ({
        async book({ payload }, ctx) {
          ctx.log.info('booking')
          await transactions.open((tx) =>
            andThen(run(tx, `insert into booked values ('${payload.id}')`), () =>
              ctx.complete(tx, { booked: payload.id }),
            ),
          )
          ctx.log.info('booked')
          return { booked: 'is ignored' }
        },
        follow: () => 'followed',
        async parent({ payload }, ctx) {
          return ctx.all([ctx.spawn('book', payload)])
        },
      }))
      expect(service.transactions.mode).toMatch(/sync/)
      const key = { concurrencyKey: 'k', concurrencyLimit: 1, unique: { key: 'u' } }
      const first = await test.enqueue('book', { id: 'a' }, key)
      const second = await test.enqueue('book', { id: 'b' }, { concurrencyKey: 'k', concurrencyLimit: 1 })
      await test.enqueue('follow', null, { after: [first] })
      await test.enqueue('parent', { id: 'c' })
      const ran = await test.drain()
      expect(ran.map(({ topic, status, result }) => [topic, status, result])).toEqual(
        expect.arrayContaining([
          ['book', 'completed', { booked: 'a' }],
          ['book', 'completed', { booked: 'b' }],
          ['follow', 'completed', 'followed'],
          ['parent', 'completed', [{ booked: 'c' }]],
        ]),
      )
      expect(await booked()).toEqual(['a', 'b', 'c'])
      const done = await test.store.get(first)
      expect([done?.run, done?.lockedBy !== null, done?.lastError]).toEqual([1, true, null])
      // The unique key is free.
      expect(await test.enqueue('book', { id: 'd' }, key)).not.toBe(first)
      expect((await test.drain())[0]?.status).toBe('completed')
      expect((await test.store.get(second))?.status).toBe('completed')
      expect(await test.store.stats()).toMatchObject({ pending: 0, processing: 0, blocked: 0 })
      const logs = (await test.store.events.list(first)).map(
        ({ data }) => (data as { message: string }).message,
      )
      expect(logs).toEqual(['booking', 'booked'])
    })

    it('runs again after its transaction was rolled back', async () => {
      const { test, booked } = await world(({ transactions, run }) => ({
        async book({ payload }, ctx) {
          const end = (tx: unknown) =>
            andThen(run(tx, `insert into booked values ('${payload.id}')`), () =>
              andThen(ctx.complete(tx, { booked: payload.id }), () => {
                if (ctx.attempt === 1) throw new Error('no')
              }),
            )
          // For a synchronous library the throw must be synchronous too.
          const synchronous = (tx: unknown) => {
            run(tx, `insert into booked values ('${payload.id}')`)
            void ctx.complete(tx, { booked: payload.id })
            if (ctx.attempt === 1) throw new Error('no')
          }
          await transactions.open(transactions.mode === 'sync' ? synchronous : end).catch(() => {})
          return { booked: payload.id }
        },
      }))
      const id = await test.enqueue('book', { id: 'a' })
      const [failed] = await test.drain()
      expect([failed?.status, failed?.lastError?.code]).toEqual(['pending', 'COMPLETE_ROLLED_BACK'])
      expect(await booked()).toEqual([])
      const [done] = await test.advance(1_000)
      expect([done?.id, done?.status, done?.retries, await booked()]).toEqual([id, 'completed', 1, ['a']])
    })

    it('does not complete a job that is being undone, and rolls back', async () => {
      const undone: string[] = []
      const caught: unknown[] = []
      const { test, booked } = await world(({ transactions, run }) => ({
        async book({ payload, run: n }, ctx) {
          await ctx.undo('unbook', () => void undone.push(payload.id))
          const soldOut = () => {
            if (n === 1) throw new PermanentError('sold out')
          }
          const book = (tx: unknown) => run(tx, `insert into booked values ('${payload.id}')`)
          const end = (tx: unknown) => ctx.complete(tx, { booked: payload.id })
          // For a synchronous library the throws must be synchronous too.
          const synchronous = (tx: unknown) => {
            book(tx)
            void end(tx)
            soldOut()
          }
          const later = (tx: unknown) => andThen(book(tx), () => andThen(end(tx), soldOut))
          const opened = transactions.open(transactions.mode === 'sync' ? synchronous : later)
          await opened.catch((error) => {
            caught.push(error.code)
            throw error
          })
          return { booked: payload.id }
        },
      }))
      const id = await test.enqueue('book', { id: 'a' })
      await test.drain()
      const done = await test.store.get(id)
      expect([done?.run, done?.status, done?.lastError?.message]).toEqual([2, 'failed', 'sold out'])
      expect([await booked(), undone, caught]).toEqual([[], ['a'], [undefined, 'JOB_SUSPENDED']])
    })

    it('refuses a result that does not fit, and writes nothing', async () => {
      const { test, booked } = await world(({ transactions, run }) => ({
        async book({ payload }, ctx) {
          await transactions.open((tx) =>
            andThen(run(tx, `insert into booked values ('${payload.id}')`), () =>
              ctx.complete(tx, { booked: 5 } as never),
            ),
          )
          return { booked: payload.id }
        },
      }))
      const failed = await test.run('book', { id: 'a' })
      expect([failed.status, failed.lastError?.code, await booked()]).toEqual([
        'failed',
        'INVALID_RESULT',
        [],
      ])
    })

    it('is completed, whatever the handler throws afterwards', async () => {
      const { test, booked } = await world(({ transactions, run }) => ({
        async book({ payload }, ctx) {
          await transactions.open((tx) =>
            andThen(run(tx, `insert into booked values ('${payload.id}')`), () =>
              ctx.complete(tx, { booked: payload.id }),
            ),
          )
          throw new Error('too late')
        },
      }))
      const done = await test.run('book', { id: 'a' })
      expect([done.status, done.result, await booked()]).toEqual(['completed', { booked: 'a' }, ['a']])
    })

    it.each(host.dialect === 'postgres' ? ['afterwards', 'at the same time'] : ['afterwards'])(
      'is not completed by a second transaction, whose rows are rolled back: %s',
      async (when) => {
        let said: unknown[] = []
        const { test, booked } = await world(({ transactions, run }) => ({
          async book({ payload }, ctx) {
            const end = async () =>
              transactions.open((tx) =>
                andThen(run(tx, `insert into booked values ('${payload.id}')`), () =>
                  ctx.complete(tx, { booked: payload.id }),
                ),
              )
            const first = end()
            if (when === 'afterwards') await first
            const ended = await Promise.allSettled([first, end()])
            said = ended.map((each) => (each.status === 'rejected' ? each.reason.code : each.status))
            return { booked: payload.id }
          },
        }))
        const done = await test.run('book', { id: 'a' })
        expect([done.status, said.sort(), await booked()]).toEqual([
          'completed',
          ['STALE_RUN', 'fulfilled'],
          ['a'],
        ])
      },
    )

    it('is not completed after the rollback of a transaction that did not wait for it', async () => {
      const { test, booked } = await world(({ transactions, run }) => ({
        async book({ payload }, ctx) {
          // Written before the end of the job.
          ctx.log.info('booking')
          let completing: unknown
          const rolledBack = transactions.open((tx) =>
            andThen(run(tx, `insert into booked values ('${payload.id}')`), () => {
              completing = ctx.complete(tx, { booked: payload.id })
              throw new Error('no')
            }),
          )
          await rolledBack.catch(() => {})
          await Promise.resolve(completing).catch(() => {})
          return { booked: payload.id }
        },
      }))
      await test.enqueue('book', { id: 'a' })
      const [failed] = await test.drain()
      expect(failed).toMatchObject({ status: 'pending', lastError: { code: 'COMPLETE_ROLLED_BACK' } })
      expect(await booked()).toEqual([])
    })
  })
}
