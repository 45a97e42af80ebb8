import { describe, expect, test } from 'vitest'
import { dataOf, plotOf, type SoakData, type SoakRun, textOf } from './report.ts'
import { type Run, ratesOf, type Sample, verdictOf } from './verdict.ts'

const LOAD = { minutes: 1, rate: 100 }

/** Ten samples of a second, with that many jobs and that long a wait in each. */
function samplesOf(jobs: (n: number) => number, ms: (n: number) => number): Sample[] {
  return Array.from({ length: 10 }, (_, n) => ({
    atMs: (n + 1) * 1_000,
    seconds: 1,
    pickUps: Array<number>(jobs(n)).fill(ms(n)),
    jobsTable: 1_000_000 * (n + 1),
    jobsIndexes: 500_000,
    historyTable: 200_000_000,
    historyIndexes: 0,
    deadRows: 1_234,
  }))
}

const isWithin = (samples: readonly Sample[]) => {
  const { jobsPerSecond, p50, p99 } = verdictOf(samples)
  return [jobsPerSecond.isWithin, p50.isWithin, p99.isWithin]
}

test('rates come from all runs of the samples', () => {
  const pickUps = Array.from({ length: 101 }, (_, ms) => ms)
  const halves = [
    { seconds: 1, pickUps: pickUps.slice(0, 60) },
    { seconds: 3, pickUps: pickUps.slice(60) },
  ]
  expect(ratesOf(halves)).toEqual({ jobsPerSecond: 101 / 4, p50: 50, p99: 99 })
})

describe('the verdict', () => {
  test('compares the first fifth with the last', () => {
    const { jobsPerSecond, p99 } = verdictOf(
      samplesOf(
        (n) => 100 + n,
        (n) => n,
      ),
    )
    expect(jobsPerSecond).toEqual({ first: 100.5, last: 108.5, isWithin: true })
    expect([p99.first, p99.last]).toEqual([1, 9])
  })

  test('is yes up to 20%, and however much better it gets', () => {
    expect(
      isWithin(
        samplesOf(
          (n) => (n < 5 ? 100 : 80),
          (n) => (n < 5 ? 10 : 12),
        ),
      ),
    ).toEqual([true, true, true])
    expect(
      isWithin(
        samplesOf(
          (n) => (n < 5 ? 100 : 200),
          (n) => (n < 5 ? 10 : 1),
        ),
      ),
    ).toEqual([true, true, true])
  })

  test('is no beyond', () => {
    expect(
      isWithin(
        samplesOf(
          (n) => (n < 5 ? 100 : 79),
          (n) => (n < 5 ? 10 : 12.1),
        ),
      ),
    ).toEqual([false, false, false])
  })

  test('is no when nothing ran at the end', () => {
    expect(
      isWithin(
        samplesOf(
          (n) => (n < 5 ? 100 : 0),
          () => 10,
        ),
      ),
    ).toEqual([false, false, false])
  })

  test('needs no more than one sample', () => {
    expect(
      isWithin(
        samplesOf(
          () => 100,
          () => 10,
        ).slice(0, 1),
      ),
    ).toEqual([true, true, true])
  })
})

describe('the report', () => {
  const runs: [Run, Run] = [
    {
      name: 'alone',
      postgres: { version: '18.4', settings: {} },
      samples: samplesOf(
        () => 100,
        () => 10,
      ),
      enqueued: 1_000,
      settled: 1_000,
    },
    {
      name: 'held',
      postgres: { version: '18.4', settings: {} },
      samples: samplesOf(
        () => 100,
        (n) => 10 + n,
      ),
      enqueued: 1_000,
      settled: 999,
    },
  ]

  const run: SoakRun = {
    when: '2026-11-18T00:00:00.000Z',
    machine: { cpu: 'some CPU', cores: 2, memoryGb: 8 },
    node: 'v24.0.0',
    minutesTaken: 3,
    load: { atStart: 0.1, median: 1.4, most: 2 },
    // As it is read from the file.
    ...(JSON.parse(JSON.stringify(dataOf(LOAD, runs))) as SoakData),
  }
  const lines = textOf(run).replaceAll(/ +/g, ' ').split('\n')

  test('begins with the conditions', () => {
    expect(lines[0]).toContain('Postgres 18.4 with its default settings, Node v24.0.0, 2 cores')
    expect(lines[0]).toContain(
      '100 jobs/s for 1 min, one worker process. It took 3 min. Load average: 0.1 at the start',
    )
  })

  test('says of each run whether it stayed within 20%, and whether jobs are missing', () => {
    expect(lines).toContain('| alone: pick-up p99, ms | 10.0 | 10.0 | 10.0 | 100% | ≤ 120% | yes |')
    expect(lines).toContain('| alone: jobs/s | 100 | 100 | 100 | 100% | ≥ 80% | yes |')
    expect(lines).toContain('| held: pick-up p99, ms | 19.0 | 11.0 | 19.0 | 173% | ≤ 120% | NO |')
    expect(lines).toContain('| alone: jobs settled | 1,000 | | | | all 1,000 | yes |')
    expect(lines).toContain('| held: jobs settled | 999 | | | | all 1,000 | NO |')
  })

  test('has sizes over time', () => {
    expect(lines).toContain('| 0.17 | 100 | 10.0 | 10.0 | 10.0 | 0.5 | 1,234 | 200 | 0.0 |')
  })

  test('has a chart for each measure, with a line for each run', () => {
    const svg = plotOf(run)
    expect([...svg.matchAll(/class="name"/g)]).toHaveLength(8)
    expect([...svg.matchAll(/<title>held<\/title>/g)]).toHaveLength(8)
  })

  test('leaves the single times out of the data', () => {
    expect(JSON.stringify(dataOf(LOAD, runs))).not.toContain('pickUps')
  })
})
