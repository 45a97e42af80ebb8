import { describe, expect, it } from 'vitest'
import { Bench, type Dialect, OTHER_WORKER, WORKER } from './harness.ts'

const TERM = 10_000

/** Leases for tasks that one process at a time should do. */
export function describeLeaders(dialect: Dialect): void {
  describe('leaders', () => {
    const bench = new Bench(dialect)

    it('one leads at a time, for a term that it can renew', async () => {
      const store = await bench.openWithClock()
      const lead = (by: string) => store.lead('maintenance', by, TERM)
      expect(await lead(WORKER)).toBe(true)
      for (let i = 0; i < 3; i++) {
        bench.clock.advance(TERM - 1)
        expect(await lead(OTHER_WORKER)).toBe(false)
        expect(await lead(WORKER)).toBe(true)
      }
      bench.clock.advance(TERM)
      expect(await lead(OTHER_WORKER)).toBe(true)
      expect(await lead(WORKER)).toBe(false)
    })

    it('each task has its own leader', async () => {
      const store = await bench.openWithClock()
      expect(await store.lead('maintenance', WORKER, TERM)).toBe(true)
      expect(await store.lead('alerts', OTHER_WORKER, TERM)).toBe(true)
    })

    it('a leader that steps down makes room at once, and cannot end the term of another', async () => {
      const store = await bench.openWithClock()
      await store.lead('maintenance', WORKER, TERM)
      await store.stepDown('maintenance', OTHER_WORKER)
      expect(await store.lead('maintenance', OTHER_WORKER, TERM)).toBe(false)
      await store.stepDown('maintenance', WORKER)
      await store.stepDown('maintenance', WORKER)
      expect(await store.lead('maintenance', OTHER_WORKER, TERM)).toBe(true)
    })

    it('one of many that try at once leads', async () => {
      const stores = await Promise.all([bench.open(), bench.open()])
      const tries = Array.from({ length: 20 }, (_, n) => {
        const store = stores[n % 2] ?? stores[0]
        return store.lead('maintenance', `worker ${n}`, TERM)
      })
      expect((await Promise.all(tries)).filter((leads) => leads)).toHaveLength(1)
    })

    it('a call that read the clock just before the leader did, and then waited, does not lead too', async () => {
      const store = await bench.openWithClock()
      await store.lead('maintenance', WORKER, TERM)
      bench.clock.advance(-10)
      expect(await store.lead('maintenance', OTHER_WORKER, TERM)).toBe(false)
    })

    it('after the clock is set back, a term does not last until the old time', async () => {
      const store = await bench.openWithClock()
      await store.lead('maintenance', WORKER, TERM)
      bench.clock.advance(-3_600_000)
      expect(await store.lead('maintenance', OTHER_WORKER, TERM)).toBe(true)
      expect(await store.lead('maintenance', WORKER, TERM)).toBe(false)
    })
  })
}
