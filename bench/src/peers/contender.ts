import type { ShapeName } from './shapes.ts'

export type DatabaseName = 'postgres' | 'sqlite'

/** A queue that is measured. Its functions run in processes of their own, never in the one that measures. */
export interface Contender {
  readonly name: string
  readonly database: DatabaseName
  readonly version: string
  /** How it is set up, for the report. */
  readonly settings: string
  /** What remains of a finished job. */
  readonly keeps: string
  /** The shapes that it has. */
  readonly shapes: readonly ShapeName[]
  /** Its retries wait for a time that cannot be set, so that their jobs/s would be the wait. */
  readonly waitsBeforeRetry?: boolean
  /** The producer, on a database of its own. Creates the tables. */
  produce(url: string, shape: ShapeName): Promise<Producer>
  /** A worker that is connected and has not begun. */
  work(url: string, work: Work): Promise<PreparedWorker>
}

interface Producer {
  /** One call of its bulk enqueue. */
  enqueue(numbers: readonly number[]): Promise<unknown>
  /** Whether no job is left that waits or runs. */
  isDrained(): Promise<boolean>
  close(): Promise<unknown>
}

interface Work {
  readonly shape: ShapeName
  /** How many processes like this one work. */
  readonly processes: number
  /** To be called once a run. What it returns is the result; a throw is a failure. */
  handle(n: number, attempt: number): unknown
}

interface PreparedWorker {
  start(): unknown
  stop(): Promise<unknown>
}

export const idOf = ({ database, name }: Pick<Contender, 'database' | 'name'>) => `${database}/${name}`
