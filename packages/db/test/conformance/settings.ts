import { describe, expect, it } from 'vitest'
import { Bench, type Dialect, MINUTE } from './harness.ts'

export function describeSettings(dialect: Dialect): void {
  describe('settings', () => {
    const bench = new Bench(dialect)

    it('stores any JSON, with who set it and when', async () => {
      const control = await bench.openControl()
      const set = { a: true, b: '', c: null, d: ['x', 1], e: 'true', f: 12 }
      await control.settings.change({ set, by: 'Ada' })
      const rows = await control.settings.all()
      expect(Object.fromEntries(rows.map(({ key, value }) => [key, value]))).toEqual(set)
      expect(rows[0]).toEqual({ key: 'a', value: true, updated: bench.clock.now(), updatedBy: 'Ada' })
    })

    it('changes some, removes some, and keeps the rest; other stores see it', async () => {
      const [control, other] = [await bench.openControl(), await bench.openControl()]
      await control.settings.change({ set: { a: 1, b: 2, c: 3 } })
      bench.clock.advance(MINUTE)
      await control.settings.change({ set: { a: 10 }, reset: ['b', 'unknown'], by: 'Bob' })
      expect(await other.settings.all()).toMatchObject([
        { key: 'a', value: 10, updatedBy: 'Bob', updated: bench.clock.now() },
        { key: 'c', value: 3, updatedBy: null },
      ])
    })

    it('changes all or nothing', async () => {
      const control = await bench.openControl()
      await expect(control.settings.change({ set: { a: 1, b: () => 0 } })).rejects.toMatchObject({
        code: 'INVALID_PAYLOAD',
      })
      expect(await control.settings.all()).toEqual([])
    })
  })
}
