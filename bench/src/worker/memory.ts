import type { Report } from '../benchmark.ts'
import { count, progress, table } from '../report.ts'
import { drainIn, type Field, oncueOf } from './drain.ts'
import { WorkerProcess } from './process.ts'

const STEPS = 10
/** A heap that has grown by less than this since the second step is flat: the first one warms up. */
const FLAT_BYTES = 1_000_000

/** The heap after a garbage collection, measured after every tenth of the jobs. */
export async function growth(where: string, fields: readonly Field[], jobs: number): Promise<Report> {
  const field = oncueOf(fields)
  const step = Math.ceil(jobs / STEPS)
  const worker = await WorkerProcess.start(field.name, field.url)
  const heaps: number[] = []
  for (let n = 1; n <= STEPS; n++) {
    progress(`worker: ${where}, ${count(n * step)} of ${count(jobs)} jobs`)
    heaps.push((await drainIn(worker, field, step)).heapBytes)
  }
  await worker.stop()
  const grown = (heaps.at(-1) ?? 0) - (heaps[1] ?? 0)
  const rows = heaps.map((bytes, n) => [count((n + 1) * step), (bytes / 1e6).toFixed(2)])
  return {
    data: { database: where, jobs, heaps },
    text: `${where}: flat? ${grown < FLAT_BYTES ? 'yes' : 'NO'}\n\n${table(['jobs drained', 'heap MB'], rows)}`,
  }
}
