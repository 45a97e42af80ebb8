import { OncueError } from '@oncue/core'
import { describeError } from '@oncue/core/internal'
import { isRepeatable } from '@oncue/db'
import { backoff } from '@oncue/runtime'
import { isAbort } from '../abort.ts'
import type { StepRecord } from '../steps.ts'
import { Attempts, STEP } from './attempts.ts'
import type { Calls } from './calls.ts'

/** A step has finished whose events do not say so: for the job's event stream. */
export type OnStep = (name: string, text: string | undefined) => void

/** Of a transaction that loses to others. */
const COMMIT_ATTEMPTS = 10
const COMMIT_BACKOFF = { firstMs: 10, maxMs: 1_000 }

/** `ctx.step` and `ctx.commit`. */
export class StepCalls implements StepRecord {
  readonly #calls: Calls
  readonly #attempts: Attempts
  readonly #onStep: OnStep

  constructor(calls: Calls, onStep: OnStep) {
    this.#calls = calls
    this.#attempts = new Attempts(calls, STEP)
    this.#onStep = onStep
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
      if (!isTold) this.#onStep(name, text)
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

  pause(name: string, attempt: number, delayMs: number): Promise<void> {
    return this.#attempts.pause(name, attempt, delayMs)
  }

  unstored(name: string, error: OncueError): void {
    this.#attempts.end(name)
    this.#calls.run.refuseRepeat(error)
  }

  /**
   * Runs a transaction that records the result of a step as its last statement, again as long as it fails by no fault of
   * its own. `onSent` is called before that statement: from then on only the store knows whether it was committed.
   */
  async commit(name: string, transact: (key: string, onSent: () => void) => Promise<void>): Promise<unknown> {
    const key = this.#attempts.keyOf(name)
    const { replay, runtime } = this.#calls
    try {
      for (let attempt = 1; ; attempt++) {
        this.#calls.assertMine()
        // The handler has survived these, and writes its rows because of them.
        if (replay.hasFailures) await replay.send([])
        let isSent = false
        const onSent = () => {
          isSent = true
        }
        const failed = await transact(key, onSent).then(
          () => undefined,
          (error: unknown) => ({ error }),
        )
        // Waits for the lock of a transaction that is still under way after its connection was lost.
        if (isSent) await replay.send([])
        if (replay.recorded.has(key)) break
        if (!failed) throw notCommitted(name)
        if (!isRepeatable(failed.error) || attempt === COMMIT_ATTEMPTS) throw failed.error
        await this.#calls.sleepHere(backoff(attempt, COMMIT_BACKOFF, runtime))
      }
      const { data } = await replay.ask(key, { isRecorded: true })
      const { result } = data as { readonly result?: unknown }
      this.#onStep(name, result === undefined ? undefined : JSON.stringify(result))
      return result
    } catch (error) {
      await this.fail(name, error)
      throw error
    } finally {
      this.#attempts.end(name)
    }
  }
}

function notCommitted(name: string): OncueError {
  const message = `the transaction of the commit ${JSON.stringify(name)} ended, and was not committed`
  return new OncueError('UNSUPPORTED_TRANSACTION', message, {
    hint: 'Neither commit nor roll back within the work of ctx.commit: throw to roll back.',
  })
}
