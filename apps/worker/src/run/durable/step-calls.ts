import type { OncueError } from '@oncue/core'
import { describeError } from '@oncue/core/internal'
import { isAbort } from '../abort.ts'
import type { CommitRecord } from '../commit.ts'
import type { StepRecord } from '../steps.ts'
import { Attempts, type OnRetried, STEP } from './attempts.ts'
import type { Calls } from './calls.ts'

/** For the job's event stream. */
export interface StepsTold {
  /** A step has finished whose events do not say so. */
  readonly onStep: (name: string, text: string | undefined) => void
  /** An attempt failed, and another follows. */
  readonly onStepRetried: OnRetried
}

/** `ctx.step` and `ctx.commit`. */
export class StepCalls implements StepRecord, CommitRecord {
  readonly #calls: Calls
  readonly #attempts: Attempts
  readonly #told: StepsTold

  constructor(calls: Calls, told: StepsTold) {
    this.#calls = calls
    this.#attempts = new Attempts(calls, STEP)
    this.#told = told
  }

  get signal(): AbortSignal {
    return this.#calls.run.signal
  }

  get isEnding(): boolean {
    return this.#calls.isEnding
  }

  async begin(name: string): Promise<{ readonly result: unknown } | { readonly attempts: number }> {
    const key = this.#calls.claim(this.#attempts.keyOf(name), 'step', name)
    return this.#calls.calling(async () => {
      const release = this.#calls.hold('step', name)
      try {
        await this.#calls.loadFor(key)
        if (!this.#calls.stopsAt(key)) return this.#attempts.begin(name)
        this.#attempts.skip(name)
        return this.#calls.hang(key)
      } finally {
        // From here on its work holds the run.
        release()
      }
    })
  }

  async finish(name: string, text: string | undefined, isTold: boolean): Promise<unknown> {
    try {
      this.#calls.assertMine()
      // An object, because a result that is null is not a result that is missing.
      await this.#calls.replay.record({
        key: this.#attempts.keyOf(name),
        kind: 'step',
        data: text === undefined ? '{}' : `{"result":${text}}`,
      })
      if (!isTold) this.#told.onStep(name, text)
      return text === undefined ? undefined : JSON.parse(text)
    } finally {
      this.#attempts.end(name)
    }
  }

  async fail(name: string, error: unknown): Promise<void> {
    this.#attempts.end(name)
    const { aborted, job } = this.#calls.run
    if (this.#calls.hasLeft || (aborted && (aborted !== 'shutdown' || isAbort(error, aborted)))) return
    const data = JSON.stringify(describeError(error, job.topic))
    const key = this.#attempts.keyOf(name)
    const inTurn = this.#calls.replay.fail({ key, kind: 'step_failed', data })
    if (inTurn) await inTurn
  }

  pause(name: string, attempt: number, delayMs: number, error: unknown, isTold: boolean): Promise<void> {
    if (!isTold) this.#told.onStepRetried(name, attempt, error)
    return this.#attempts.pause(name, attempt, delayMs, error)
  }

  unstored(name: string, error: OncueError): void {
    this.#attempts.end(name)
    this.#calls.run.refuseRepeat(error)
  }

  async beginCommit(name: string): Promise<string> {
    const { replay } = this.#calls
    this.#calls.assertMine()
    // The handler has survived these, and writes its rows because of them.
    if (replay.hasFailures) await replay.send([])
    return this.#attempts.keyOf(name)
  }

  async endCommit(name: string, isSent: boolean): Promise<{ readonly result: unknown } | null> {
    const key = this.#attempts.keyOf(name)
    const { replay } = this.#calls
    // Waits for the lock of a transaction that is still under way after its connection was lost.
    if (isSent) await replay.send([])
    if (!replay.recorded.has(key)) return null
    const { data } = await replay.ask(key, { isRecorded: true })
    const { result } = data as { readonly result?: unknown }
    this.#told.onStep(name, result === undefined ? undefined : JSON.stringify(result))
    this.#attempts.end(name)
    return { result }
  }

  pauseCommit(ms: number): Promise<void> {
    return this.#calls.sleepHere(ms)
  }
}
