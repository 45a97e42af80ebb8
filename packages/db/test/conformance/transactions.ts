import { describe, expect, it } from 'vitest'
import type { Transaction } from '../../src/queue/transaction.ts'
import { aJob, Bench, claiming, type Dialect, someJobs } from './harness.ts'

export function describeTransactions(dialect: Dialect): void {
  describe.each(dialect.transactions)("enqueue in the caller's transaction: $name", (kind) => {
    const bench = new Bench(dialect)
    class Rollback extends Error {}

    it('is not visible before the commit, and visible after it', async () => {
      const store = await bench.open()
      await kind.run(bench.url, async (tx) => {
        await store.enqueue(someJobs(3), { tx })
        expect((await store.stats()).pending).toBe(0)
      })
      expect((await store.claim(claiming())).jobs).toHaveLength(3)
    })

    it('leaves nothing when the transaction is rolled back', async () => {
      const store = await bench.open()
      const rolledBack = kind.run(bench.url, async (tx) => {
        await store.enqueue(someJobs(1_500), { tx })
        await store.enqueue([aJob({ payload: 'x'.repeat(5_000) })], { tx })
        throw new Rollback()
      })
      await expect(rolledBack).rejects.toThrow(Rollback)
      expect(await store.list()).toMatchObject({ items: [], total: 0 })
    })

    it('keeps payloads of every size', async () => {
      const store = await bench.open()
      const payloads = [null, { text: '你好 "quoted" $1 ?' }, 'x'.repeat(50_000)]
      await kind.run(bench.url, (tx) =>
        store.enqueue(
          payloads.map((payload) => aJob({ payload })),
          { tx },
        ),
      )
      expect((await store.claim(claiming())).jobs.map((job) => job.payload)).toEqual(payloads)
    })

    it('is claimed in time when it commits late, behind jobs that were claimed before', async () => {
      const store = await bench.open()
      let late = ''
      await kind.run(bench.url, async (tx) => {
        late = (await store.enqueue([aJob()], { tx }))[0] ?? ''
        if (!store.capabilities.concurrentWriters) return
        // Others enqueue and claim meanwhile, which moves the low-water mark of the claims.
        for (let i = 0; i < 20; i++) {
          await store.enqueue([aJob()])
          await store.claim(claiming({ limit: 1 }))
        }
      })
      const { jobs } = await store.claim(claiming({ limit: 100 }))
      const found = jobs.some((job) => job.id === late)
      // By the next sweep at the latest, a second later.
      if (!found)
        await expect
          .poll(async () => (await store.claim(claiming())).jobs[0]?.id, { timeout: 2_000 })
          .toBe(late)
    })
  })

  describe('a value that is not a transaction', () => {
    const bench = new Bench(dialect)

    it.each([
      ['a pool', { query: async () => {}, totalCount: 1, idleCount: 1 }],
      ['a whole PrismaClient', { $executeRawUnsafe: async () => 1, $connect: async () => {} }],
      ['something else', { hello: 'world' } as unknown as Transaction],
    ])('%s is refused with UNSUPPORTED_TRANSACTION', async (_, tx) => {
      const store = await bench.open()
      await expect(async () => store.enqueue([aJob()], { tx })).rejects.toMatchObject({
        code: 'UNSUPPORTED_TRANSACTION',
      })
    })
  })
}
