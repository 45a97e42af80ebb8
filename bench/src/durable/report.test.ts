import { expect, test } from 'vitest'
import type { Measured } from './measurements.ts'
import { type DurableRun, type Row, textOf } from './report.ts'

const measured = (ms: number, rest: Partial<Measured> = {}): Measured => ({
  stepsPerSecond: 1_000 / ms,
  firstStep: [ms],
  early: [ms],
  late: [ms],
  resume: [ms],
  signal: [ms],
  ...rest,
})

const rowOf = (name: string, database: Row['database'], ...rounds: Measured[]): Row => ({
  ...{ name, database, rounds },
  version: '1.0.0',
  settings: 'all default',
})

const RUN: DurableRun = {
  when: '2026-11-18T00:00:00.000Z',
  machine: { cpu: 'some CPU', cores: 2, memoryGb: 8 },
  node: 'v24.0.0',
  sqlite: '3.53.0',
  minutesTaken: 3,
  load: { atStart: 0.1, median: 1.4, most: 2 },
  postgres: { version: '18.4', settings: {} },
  rounds: 1,
  rows: [
    rowOf('oncue', 'postgres', measured(10, { late: [11], resume: [20], signal: [31] })),
    rowOf('dbos', 'postgres', measured(30)),
    rowOf('oncue', 'sqlite', measured(1, { late: [1.2], resume: [20.1] })),
  ],
}

const linesOf = (run: DurableRun) => textOf(run).replaceAll(/ +/g, ' ').split('\n')

test('the report has conditions, settings, and a row per measurement with its goal', () => {
  const lines = linesOf(RUN)
  expect(lines[0]).toContain('Postgres 18.4 with its default settings')
  expect(lines).toContain('- **DBOS, Postgres** 1.0.0: all default.')
  expect(lines.slice(6)).toEqual([
    '| | Oncue, Postgres | DBOS, Postgres | Oncue, SQLite | ahead of DBOS | goal | met, Postgres | met, SQLite |',
    expect.stringMatching(/^\| -+ \| -+: \|/),
    '| steps per second, 50 workflows at once | 100 | 33 | 1,000 | yes | | | |',
    '| start to first step, p50 ms | 10.0 | 30.0 | 1.0 | yes | | | |',
    '| step to step, from step 1, p50 ms | 10.0 | 30.0 | 1.0 | yes | | | |',
    '| … p99 | 10.0 | 30.0 | 1.0 | yes | | | |',
    '| step to step, from step 1,000, p50 ms | 11.0 | 30.0 | 1.2 | yes | ≤ 110% of step 1 | yes | NO |',
    '| … p99 | 11.0 | 30.0 | 1.2 | yes | | | |',
    '| resume after 1,000 steps, p50 ms | 20.0 | 30.0 | 20.1 | yes | ≤ 20 ms | yes | NO |',
    '| signal to next step, p50 ms | 31.0 | 30.0 | 1.0 | NO | | | |',
  ])
})

test('without DBOS nothing is ahead of it', () => {
  const lines = linesOf({ ...RUN, rows: RUN.rows.filter(({ name }) => name !== 'dbos') })
  expect(lines).toContain('| start to first step, p50 ms | 10.0 | 1.0 | – | | | |')
})
