import { expect, test } from 'vitest'
import type { Sample } from './cell.ts'
import { renderAll, renderSummary } from './render.ts'
import { type PeersRun, summarise } from './summary.ts'

const cell = (contender: string, processes: number, drainPerSecond: number, rest = {}): Sample => ({
  contender,
  shape: 'no-op',
  size: 40_000,
  jobs: 40_000,
  processes,
  round: 1,
  enqueuePerSecond: 50_000,
  drainPerSecond,
  serverCpuMicros: 20,
  workerCpuMicros: 10,
  enqueueWalBytes: 545,
  drainWalBytes: 694,
  wrongRuns: 0,
  load: 0,
  ...rest,
})

function runOf(samples: readonly Sample[]): PeersRun {
  const contender = { database: 'postgres', settings: 'as documented', keeps: 'nothing' } as const
  return {
    when: '2026-11-18T00:00:00.000Z',
    machine: { cpu: 'some CPU', cores: 2, memoryGb: 8 },
    node: 'v24.0.0',
    postgres: { version: '18.4', settings: {} },
    rounds: 1,
    contenders: [
      { ...contender, id: 'postgres/Oncue', name: 'Oncue', version: '0.1.0' },
      { ...contender, id: 'postgres/graphile-worker', name: 'graphile-worker', version: '0.18.0' },
    ],
    samples,
    rows: summarise(samples),
    failures: [],
  }
}

const run = runOf([
  cell('postgres/Oncue', 1, 36_000),
  cell('postgres/graphile-worker', 1, 30_000, { serverCpuMicros: 15 }),
  cell('postgres/Oncue', 2, 40_000),
  cell('postgres/graphile-worker', 2, 50_000, { wrongRuns: 3 }),
  cell('postgres/Oncue', 1, 20_000, { shape: 'result' }),
])

test('the report has conditions, settings, speed and cost', () => {
  expect(renderAll(run)).toMatchSnapshot()
})

test('the summary has a row per peer, as shares of it', () => {
  expect(renderSummary(run)).toMatchSnapshot()
})
