import { observeFor } from '@oncue/testing'
import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/store.ts'
import { aJob, Bench, claiming, type Dialect } from './harness.ts'
import { processesOf } from './processes.ts'

/**
 * Reason for the skip: behind a transaction pooler no connection is a session, so there is no LISTEN
 * (capability `sessions`). Callers rely on their polling there.
 */
export function describeWakeups(dialect: Dialect): void {
  describe.skipIf(dialect.pooled)('wake-ups', () => {
    const bench = new Bench(dialect)
    const children = processesOf(dialect)

    /** How often it was woken since the last call. */
    async function countWakes(store: Store, queues = ['default']): Promise<() => number> {
      let wakes = 0
      await store.onWake(queues, () => {
        wakes += 1
      })
      wakes = 0
      return () => {
        const count = wakes
        wakes = 0
        return count
      }
    }

    it('an enqueue wakes subscribers in this store, and in another', async () => {
      const store = await bench.open()
      const other = await bench.open()
      const wakes = [
        await countWakes(store),
        await countWakes(other),
        await countWakes(other, ['a', 'default']),
      ]
      await store.enqueue([aJob()])
      for (const count of wakes) await expect.poll(count).toBeGreaterThan(0)
    })

    it('runNow wakes subscribers in another store', async () => {
      const store = await bench.open()
      const [id = ''] = await store.enqueue([aJob({ queue: 'later', delay: 60_000 })])
      const wakes = await countWakes(await bench.open(), ['later'])
      await store.runNow([id])
      await expect.poll(wakes).toBeGreaterThan(0)
    })

    it('an enqueue wakes subscribers in another process, and one there wakes ours', async () => {
      const store = await bench.open()
      const wakes = await countWakes(store, ['elsewhere'])
      const child = await children.start(bench.url)
      for (let n = 0; n < 3; n++) {
        const { ids } = await children.tell(child, { do: 'enqueue', count: 1, queue: 'elsewhere' })
        await expect.poll(wakes).toBeGreaterThan(0)
        const { jobs } = await store.claim(claiming({ queues: ['elsewhere'] }))
        expect(jobs.map((job) => job.id)).toEqual(ids)
      }
    })

    it('no subscriber is woken once the subscription or the store is closed', async () => {
      const store = await bench.open()
      const other = await bench.open()
      let wakes = 0
      const wake = () => {
        wakes += 1
      }
      const subscription = await store.onWake(['default'], wake)
      await other.onWake(['default'], wake)
      await subscription.close()
      await subscription.close()
      await other.close()
      const fence = await countWakes(store)
      wakes = 0
      await store.enqueue([aJob()])
      await expect.poll(fence).toBeGreaterThan(0)
      expect(wakes).toBe(0)
      await expect(async () => other.onWake(['default'], wake)).rejects.toMatchObject({
        code: 'STORE_CLOSED',
      })
    })

    it('a worker that claims only when it is woken gets every job of many bursts', async () => {
      const store = await bench.open()
      const producer = await bench.open()
      const found = new Set<string>()
      let looking = Promise.resolve()
      const look = async () => {
        for (;;) {
          const { jobs } = await store.claim(claiming({ limit: 100 }))
          for (const job of jobs) found.add(job.id)
          if (jobs.length === 0) return
        }
      }
      const subscription = await store.onWake(['default'], () => {
        looking = looking.then(look)
      })
      for (let burst = 1; burst <= 5; burst++) {
        await Promise.all(Array.from({ length: 200 }, () => producer.enqueue([aJob()])))
        await expect.poll(() => found.size, { timeout: 5_000 }).toBe(burst * 200)
      }
      await subscription.close()
      await looking
    })

    it.each(dialect.transactions)('no worker is woken before the commit: $name', async (kind) => {
      const store = await bench.open()
      const wakes = await countWakes(store)
      await kind.run(bench.url, async (tx) => {
        await store.enqueue([aJob()], { tx })
        // Observed for much longer than a wake-up takes.
        await observeFor(100, async () => {
          await store.list()
          expect(wakes()).toBe(0)
        })
      })
      await expect.poll(wakes).toBeGreaterThan(0)
    })

    it.each(dialect.transactions)('no worker finds a job after a rollback: $name', async (kind) => {
      const store = await bench.open()
      const wakes = await countWakes(store)
      const rolledBack = kind.run(bench.url, async (tx) => {
        await store.enqueue([aJob()], { tx })
        throw new Error('rolled back')
      })
      await expect(rolledBack).rejects.toThrow('rolled back')
      await store.enqueue([aJob({ topic: 'fence' })])
      await expect.poll(wakes).toBeGreaterThan(0)
      expect((await store.claim(claiming())).jobs).toMatchObject([{ topic: 'fence' }])
    })
  })
}
