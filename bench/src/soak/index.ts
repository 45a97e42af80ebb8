import type { Benchmark } from '../benchmark.ts'
import { watched } from '../conditions.ts'
import { recorded } from '../recorded.ts'
import { dataOf, plotOf, type SoakRun, textOf } from './report.ts'
import { soak as run } from './run.ts'

const MINUTES = 10
const RATE = 800

export const soak: Benchmark = {
  summary: 'a steady load for --minutes, with and without a transaction that holds xmin (Postgres)',
  hasPlot: true,
  recorded: recorded<SoakRun>('soak', {
    sections: [{ document: 'bench/README.md', name: 'all', render: textOf }],
    plot: { alt: 'Jobs per second, pick-up times and sizes over the minutes of the run', render: plotOf },
    isWhole: ({ minutes }) => minutes >= MINUTES,
  }),
  async run({ minutes = MINUTES, rate = RATE }) {
    const load = { minutes, rate }
    const data = await watched(async () =>
      dataOf(load, [
        await run('no other transaction', false, load),
        await run('a transaction holds xmin', true, load),
      ]),
    )
    return { data, text: `${textOf(data)}\n`, plot: plotOf(data) }
  },
}
