import type { Cost } from '../measure.ts'
import { WorkerProcess } from './process.ts'

/** The tables of a contender, filled and observed from outside. */
export interface Field {
  /** The name of the contender, which child.ts knows. */
  readonly name: string
  readonly url: string
  reset(): Promise<void>
  /** Writes that many jobs, which are not visible before `commit`. */
  prepare(jobs: number): Promise<{ commit(): Promise<unknown> }>
  isDrained(): Promise<boolean>
  /** Bytes that the database has written to its log so far. */
  position(): Promise<number>
}

export interface Drained extends Cost {
  readonly logBytes: number
  readonly heapBytes: number
  readonly profile: string | null
}

export function oncueOf(fields: readonly Field[]): Field {
  const field = fields.find(({ name }) => name === 'oncue')
  if (!field) throw new Error('Oncue is not among the contenders')
  return field
}

/**
 * One drain: the worker is running and idle, all jobs come with one commit, and it ends when no job is
 * left in the table. The first jobs, which warm the process up, do not count.
 */
export async function drainOnce(field: Field, jobs: number, profile = false): Promise<Drained> {
  await field.reset()
  const worker = await WorkerProcess.start(field.name, field.url)
  try {
    await drainIn(worker, field, Math.ceil(jobs / 4))
    const drained = await drainIn(worker, field, jobs, profile)
    await worker.stop()
    return drained
  } catch (error) {
    worker.kill()
    throw error
  }
}

/** A benchmark that loses jobs would look fast: a worker that does not run them all never finishes. */
export async function drainIn(
  worker: WorkerProcess,
  field: Field,
  jobs: number,
  profiled = false,
): Promise<Drained> {
  const { commit } = await field.prepare(jobs)
  const { ranAll } = await worker.expect(jobs, profiled)
  const before = await field.position()
  const start = performance.now()
  await commit()
  worker.go()
  await ranAll
  // The last poll began when nothing was left; the one before it still saw a job.
  let end = performance.now()
  while (!(await field.isDrained())) end = performance.now()
  const logBytes = (await field.position()) - before
  const { cpuMs, heapBytes, profile } = await worker.report()
  return { jobs, ms: end - start, cpuMs, logBytes, heapBytes, profile }
}
