import type { Benchmark } from '../benchmark.ts'
import { dataOf, plotOf, textOf } from './report.ts'
import { soak as run } from './run.ts'
import type { Run } from './verdict.ts'

const CASES = [
  { name: 'no other transaction', holdsXmin: false },
  { name: 'a transaction holds xmin', holdsXmin: true },
]

export const soak: Benchmark = {
  summary: 'a steady load for --minutes, with and without a transaction that holds xmin (Postgres)',
  hasPlot: true,
  async run({ minutes = 10, rate = 800 }) {
    const load = { minutes, rate }
    const runs: Run[] = []
    for (const { name, holdsXmin } of CASES) runs.push(await run(name, holdsXmin, load))
    return { data: dataOf(load, runs), text: textOf(load, runs), plot: plotOf(load, runs) }
  },
}
