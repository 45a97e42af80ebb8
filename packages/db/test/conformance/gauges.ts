import { describe, expect, it } from 'vitest'
import type { Gauge } from '../../src/portable/gauges.ts'
import { Bench, type Dialect, MINUTE } from './harness.ts'

const DAY = 24 * 60 * MINUTE
const EMPTY: Gauge = { waiting: 0, running: 0, oldestMs: 0, workers: 0, slots: 0 }

/** Samples of how many jobs wait and run. */
export function describeGauges(dialect: Dialect): void {
  describe('gauges', () => {
    const bench = new Bench(dialect)
    const start = new Date('2026-01-01T00:00:00Z')
    const at = (minutes: number) => new Date(start.getTime() + minutes * MINUTE)
    const ever = { from: new Date(0), to: new Date(start.getTime() + 100 * DAY) }

    it('are listed as recorded, minute by minute, with the queues that had jobs', async () => {
      const store = await bench.open()
      // More milliseconds than 32 bits hold.
      const mail = { waiting: 3, running: 1, oldestMs: 30 * DAY, workers: 2, slots: 20 }
      const whole = { ...mail, workers: 3, slots: 30 }
      const samples = [
        { minute: at(0), whole, queues: new Map([['mail', mail]]) },
        { minute: at(1), whole: EMPTY, queues: new Map() },
        { minute: at(3), whole: mail, queues: new Map([...['a', 'mail'].map((q) => [q, mail] as const)]) },
      ]
      for (const sample of samples) await store.gauges.record(sample)
      expect(await store.gauges.list(ever)).toEqual(samples)
      expect(await store.gauges.list({ from: at(1), to: at(3) })).toEqual([samples[1]])
    })

    it('can be read for one queue, with the minutes in which it was empty, or for none', async () => {
      const store = await bench.open()
      const busy = { ...EMPTY, waiting: 1 }
      await store.gauges.record({ minute: at(0), whole: busy, queues: new Map([['mail', busy]]) })
      await store.gauges.record({ minute: at(1), whole: busy, queues: new Map([['media', busy]]) })
      const samples = await store.gauges.list({ ...ever, queue: 'mail' })
      expect(samples.map(({ queues }) => [...queues.keys()])).toEqual([['mail'], []])
      const whole = await store.gauges.list({ ...ever, queue: null })
      expect(whole.map(({ queues }) => queues.size)).toEqual([0, 0])
    })

    it('keep the first sample of each minute', async () => {
      const store = await bench.open()
      const sample = (waiting: number) => ({ minute: at(0), whole: { ...EMPTY, waiting }, queues: new Map() })
      await store.gauges.record(sample(1))
      await store.gauges.record(sample(2))
      expect(await store.gauges.list(ever)).toEqual([sample(1)])
    })

    it('are kept for eight days', async () => {
      const store = await bench.open()
      const record = (minute: Date) => store.gauges.record({ minute, whole: EMPTY, queues: new Map() })
      await record(at(0))
      await record(at(1))
      await record(new Date(at(1).getTime() + 8 * DAY))
      const kept = await store.gauges.list(ever)
      expect(kept.map(({ minute }) => minute)).toEqual([at(1), new Date(at(1).getTime() + 8 * DAY)])
    })

    it('may cover more queues than one statement has parameters', async () => {
      const store = await bench.open()
      const queues = new Map(Array.from({ length: 12_000 }, (_, n) => [`q${n}`, { ...EMPTY, waiting: n }]))
      await store.gauges.record({ minute: at(0), whole: EMPTY, queues })
      const [sample] = await store.gauges.list(ever)
      expect(sample?.queues).toEqual(queues)
    })
  })
}
