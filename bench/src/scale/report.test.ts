import { describe, expect, test } from 'vitest'
import { ALONE, casesOf, sizesOf, TOGETHER } from './cases.ts'
import { plotOf, type Result, resultOf, type ScaleRun, textOf } from './report.ts'

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

const RUN: ScaleRun = {
  when: '2026-11-18T00:00:00.000Z',
  machine: { cpu: 'some CPU', cores: 2, memoryGb: 8 },
  node: 'v24.0.0',
  sqlite: '3.53.0',
  minutesTaken: 59.2,
  load: { atStart: 0.1, median: 1.4, most: 2 },
  postgres: { version: '18.4', settings: { autovacuum: 'off' } },
  jobs: 10_000,
  rounds: 3,
  batch: 10,
  results: RESULTS,
}

test('a result has the median and the worst time, and pages where they are counted', () => {
  expect(RESULTS[0]).toMatchObject({ operation: 'claim', ms: { median: 2.25, worst: 3 }, pages: 1_000 })
  expect(RESULTS.at(-1)?.pages).toBeNull()
})

describe('the report', () => {
  const text = textOf(RUN)
  const rowsOf = (title: string) => text.split(title)[1]?.split('\n\n')[1]?.replaceAll(/ +/g, ' ').split('\n')

  test('begins with the conditions', () => {
    expect(text.split('\n')[0]).toBe(
      '2026-11-18: Postgres 18.4 with autovacuum = off, SQLite 3.53.0, Node v24.0.0, 2 cores (some CPU) and 8 GB of memory, ' +
        'medians of 3 rounds. It took 60 min. Load average: 0.1 at the start, 1.4 in the median and 2 at most, of which ' +
        'the benchmark is a part.',
    )
  })

  test('has a row for each case, a column for each number of finished jobs, and a goal', () => {
    expect(text).toContain('**Postgres, claim 10**: pages · median (worst) ms')
    const rest = '1,000 · 2.3 (3.0) | 10,000 · 2.3 (3.0) | pages ≤ 2 × the first | NO, 10.0 × |'
    expect(rowsOf('Postgres, claim 10')).toEqual([
      '| beside | 1,000 finished | 10,000 finished | goal | met |',
      expect.stringMatching(/^\| -+ \| -+: \|/),
      `| ${ALONE} | ${rest}`,
      `| 1,000 queues | ${rest}`,
      `| … all named by the claim | ${rest}`,
      `| ${TOGETHER} | ${rest}`,
    ])
  })

  test('has times alone for SQLite', () => {
    expect(rowsOf('SQLite, claim 10')).toContain(
      `| ${TOGETHER} | 2.3 (3.0) | 2.3 (3.0) | time ≤ 2 × the first | yes, 1.0 × |`,
    )
  })

  test.each([
    ['list', 49.9, '< 50 ms | yes |'],
    ['list', 50.1, '< 50 ms | NO |'],
    ['stats', 99.9, '< 100 ms | yes |'],
    ['stats', 100.1, '< 100 ms | NO |'],
    ['failures, a day', 1_000, '– | |'],
  ] as const)('%s of %d ms: %s', (operation, ms, verdict) => {
    const where = { database: 'postgres', finished: 1_000, name: ALONE, probe: '' } as const
    const results = [resultOf(where, { operation, ms: [ms], pages: [40] })]
    const row = textOf({ ...RUN, results })
      .split('\n')
      .find((line) => line.startsWith(`| ${ALONE}`))
    expect(row?.replaceAll(/ +/g, ' ')).toContain(`| ${verdict}`)
  })
})

test('the plot has pages and times of Postgres, and times of SQLite', () => {
  const svg = plotOf(RUN)
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
