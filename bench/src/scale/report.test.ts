import { describe, expect, test } from 'vitest'
import { ALONE, casesOf, sizesOf, TOGETHER } from './cases.ts'
import { plotOf, type Result, resultOf, textOf } from './report.ts'

const RESULTS: Result[] = (['postgres', 'sqlite'] as const).flatMap((database) =>
  [1_000, 10_000].flatMap((finished) =>
    [
      { name: ALONE, probe: '' },
      { name: '1,000 queues', probe: '' },
      { name: '1,000 queues', probe: 'all named by the claim' },
      { name: TOGETHER, probe: '' },
    ].map((which) =>
      resultOf(
        { database, finished, ...which },
        {
          operation: 'claim',
          ms: [3, 1, 2.25],
          pages: database === 'postgres' ? [finished, 40, finished] : [],
        },
      ),
    ),
  ),
)

test('a result has the median and the worst time, and pages where they are counted', () => {
  expect(RESULTS[0]).toMatchObject({ operation: 'claim', ms: { median: 2.25, worst: 3 }, pages: 1_000 })
  expect(RESULTS.at(-1)?.pages).toBeNull()
})

describe('the report', () => {
  const text = textOf(RESULTS)

  test('has a row for each case, and a column for each number of finished jobs', () => {
    expect(text).toContain('Postgres, claim 10: pages · median (worst) ms')
    expect(text).toContain(`| beside | 1,000 finished | 10,000 finished |
| --- | ---: | ---: |
| ${ALONE} | 1,000 · 2.3 (3.0) | 10,000 · 2.3 (3.0) |
| 1,000 queues | 1,000 · 2.3 (3.0) | 10,000 · 2.3 (3.0) |
| … all named by the claim | 1,000 · 2.3 (3.0) | 10,000 · 2.3 (3.0) |
| ${TOGETHER} | 1,000 · 2.3 (3.0) | 10,000 · 2.3 (3.0) |`)
  })

  test('has times alone for SQLite', () => {
    expect(text).toContain(`| ${TOGETHER} | 2.3 (3.0) | 2.3 (3.0) |`)
  })
})

test('the plot has pages and times of Postgres, and times of SQLite', () => {
  const svg = plotOf(RESULTS)
  const titles = [...svg.matchAll(/class="name"[^>]*>([^<]*claim[^<]*)</g)].map(([, title]) => title)
  expect(titles).toEqual(['Postgres: claim 10, pages', 'Postgres: claim 10, ms', 'SQLite: claim 10, ms'])
  expect(svg).toContain('1,000 queues, all named by the claim')
  expect(svg).toContain('beside 10³ to 10⁴ finished jobs')
})

test('the numbers of finished jobs are powers of ten up to the number asked for', () => {
  expect(sizesOf(1_000_000)).toEqual([1_000, 10_000, 100_000, 1_000_000])
  expect(sizesOf(25_000)).toEqual([1_000, 10_000, 25_000])
  expect(sizesOf(500)).toEqual([500])
})

test('cases name how many rows they have, also in a small run', () => {
  const names = (jobs: number) => casesOf(jobs).map(({ name }) => name)
  expect(names(1_000_000)).toContain('1,000,000 future jobs')
  expect(names(10_000)).toContain('10,000 concurrency keys')
})
