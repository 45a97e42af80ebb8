import { systemRuntime } from '@oncue/runtime'
import { describe, expect, it } from 'vitest'
import { countMatches } from './bulk-operations.ts'
import type { Match } from './reads/list.ts'

const NOW = new Date('2026-01-01T00:00:00.000Z')

/** That many jobs, in batches of the requested size. */
function jobs(count: number): Match {
  return async (_filter, _asOf, after, limit) => {
    const from = after ? Number(after.id) + 1 : 0
    const ids = Array.from({ length: Math.min(limit, count - from) }, (_, n) => String(from + n))
    const last = ids.at(-1)
    return { ids, next: last && ids.length === limit ? { created: NOW, id: last } : null }
  }
}

describe('counting what matches', () => {
  it.each([
    [0, 0, true],
    [4_999, 4_999, true],
    [5_000, 5_000, true],
    [100_000, 100_000, true],
    [100_001, 100_000, false],
    [1_000_000, 100_000, false],
  ])('of %i says %i, exactly: %s', async (count, total, totalIsExact) => {
    expect(await countMatches(jobs(count), {}, NOW)).toMatchObject({ total, totalIsExact })
  })

  it('returns the newest of the jobs that it counted', async () => {
    const { newest } = await countMatches(jobs(7_000), {}, NOW)
    expect(newest).toHaveLength(2_000)
    expect([newest[0], newest.at(-1)]).toEqual(['5000', '6999'])
  })

  it('counts all of them for an operation that is spread over a time, as long as a caller can wait', async () => {
    expect(await countMatches(jobs(250_001), {}, NOW, 'all')).toMatchObject({
      total: 250_001,
      totalIsExact: true,
    })
    let ms = 0
    const runtime = { ...systemRuntime, monotonic: () => ms++ }
    const { total, totalIsExact } = await countMatches(jobs(100_000_000), {}, NOW, 'all', 50, runtime)
    expect(totalIsExact).toBe(false)
    expect(total).toBeGreaterThan(100_000)
  })

  it('refuses a search that takes too long, and says what to do', async () => {
    const nothingYet: Match = async () => ({ ids: [], next: { created: NOW, id: '0' } })
    await expect(countMatches(nothingYet, {}, NOW, 'enough', 5)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('filter takes too long'),
      hint: expect.stringContaining('createdFrom'),
    })
  })
})
