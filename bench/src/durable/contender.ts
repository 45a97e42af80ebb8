import type { DatabaseName } from '../peers/contender.ts'

export type { DatabaseName }

/** What the body of a workflow may call. */
export interface Flow {
  step(name: string, work: () => Promise<number>): Promise<unknown>
  receive(): Promise<unknown>
  /** Where a run ends and another one repeats it, when `repeat` is called. */
  pause(): Promise<unknown>
}

export interface Input {
  /** Names the workflow in what is measured. */
  readonly tag: string
  readonly steps: number
  /** What follows its steps; after a wait comes one more. */
  readonly after: 'end' | 'receive' | 'pause'
}

type Body = (flow: Flow, input: Input) => Promise<void>

/** One library, in a process of its own that starts workflows and runs them. */
export interface Contender {
  readonly name: string
  readonly database: DatabaseName
  readonly version: string
  readonly settings: string
  start(url: string, body: Body): Promise<Engine>
}

export interface Engine {
  /** Returns the id of the workflow once it is stored. */
  begin(input: Input): Promise<string>
  /** The workflow waits in `receive` or `pause`, and nothing of that is under way. */
  isWaiting(id: string): Promise<boolean>
  /** Sends what `receive` waits for. */
  signal(id: string): Promise<void>
  /** Lets another run repeat the workflow, from its `pause`. */
  repeat(id: string): Promise<void>
  stop(): Promise<void>
}
