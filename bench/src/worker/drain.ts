import type { Cost } from '../measure.ts'
import { WorkerProcess } from './process.ts'

/** A contender's tables, as they are filled and watched from outside. */
export interface Field {
  /** Of the contender, which child.ts knows. */
  readonly name: string
  readonly url: string
  reset(): Promise<void>
  /** Writes so many jobs, which nobody sees before `commit`. */
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
 * One drain: the worker is there and idle, all jobs come with one commit, and it is over when no job is
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

/** A benchmark that loses jobs would look fast: whoever does not run them all never ends. */
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
  // The last look began when there was nothing left; the one before it still saw a job.
  let end = performance.now()
  while (!(await field.isDrained())) end = performance.now()
  const logBytes = (await field.position()) - before
  const { cpuMs, heapBytes, profile } = await worker.report()
  return { jobs, ms: end - start, cpuMs, logBytes, heapBytes, profile }
}
