import { assertCallName, assertNotNested } from '../steps.ts'
import type { Calls } from './calls.ts'

/** `ctx.since`. */
export class Changes {
  readonly #calls: Calls
  readonly #known = new Map<string, Promise<boolean>>()

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** Decided once: all calls of all runs get the same answer. */
  since(change: string): Promise<boolean> {
    const known = this.#known.get(change)
    if (known) return known
    const decision = this.#decide(change)
    this.#known.set(change, decision)
    // A call that could not record its decision may be repeated.
    decision.catch(() => this.#known.delete(change))
    return decision
  }

  async #decide(change: string): Promise<boolean> {
    assertNotNested('since')
    assertCallName(change, 'since')
    const key = `since:${change}`
    const calls = this.#calls
    return calls.calling(async () => {
      await calls.load()
      const { recorded } = calls.replay
      const decided = recorded.get(key)
      // Not in recorded order: it may be decided long after what follows it in the handler.
      if (decided) return decided.data === true
      if (calls.run.dryRun) return calls.run.dryRun.isCaughtUp
      if (calls.stopsAt(key)) return calls.hang(key)
      // The signal that resumed the job, and that the handler has not come to.
      const isBeforeSignal = calls.isReplaying && recorded.hasSignals
      const isNew = calls.replay.isCaughtUp && !isBeforeSignal
      if (isNew) calls.goLive()
      const outcome = { key, kind: 'since' as const, data: String(isNew) }
      await calls.suspension.working(() => calls.replay.send([outcome]))
      return isNew
    })
  }
}
