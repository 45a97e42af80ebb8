import type { Isolation } from '@oncue/core'
import type { ClaimedJob } from '@oncue/db'
import type { RunContext } from '../run/context.ts'
import { IsolateProcess } from './isolate-process.ts'

/** An isolated run. */
export interface Isolated {
  readonly result: Promise<unknown>
  kill(): void
}

/** The processes of isolated runs. One that has ended a run serves the next, since starting one takes long. */
export class Isolates {
  readonly #modules: readonly string[]
  readonly #processes = new Set<IsolateProcess>()
  /** By memory limit and environment, since those cannot be changed. */
  readonly #idle = new Map<string, IsolateProcess[]>()

  constructor(modules: readonly string[]) {
    this.#modules = modules
  }

  start(job: ClaimedJob, context: RunContext, isolation: Isolation): Isolated {
    const { memoryMb, env = [] } = isolation
    const kind = JSON.stringify([memoryMb, env.toSorted()])
    const idle = this.#idle.get(kind) ?? []
    this.#idle.set(kind, idle)
    const child = this.#takeAlive(idle) ?? new IsolateProcess(this.#modules, isolation)
    this.#processes.add(child)
    const giveBack = () => {
      if (child.isAlive) idle.push(child)
      else this.#processes.delete(child)
    }
    const result = child.run(job, context)
    result.then(giveBack, giveBack)
    return { result, kill: () => child.kill() }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#processes].map((child) => child.stop()))
  }

  #takeAlive(idle: IsolateProcess[]): IsolateProcess | undefined {
    for (;;) {
      const child = idle.pop()
      if (!child || child.isAlive) return child
      this.#processes.delete(child)
    }
  }
}
