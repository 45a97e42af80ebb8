import { type JobError, StepError } from '@oncue/core'
import { describeError } from '@oncue/core/internal'
import type { Calls } from './calls.ts'
import { pauseKey } from './recorded.ts'
import { QUIET_MS } from './suspension.ts'

/** What is repeated until it succeeds: the keys of its outcome and of its pauses begin so. */
type Kind = { readonly key: 'step' | 'undone'; readonly pause: 'retry' | 'undo_retry' }
export const STEP: Kind = { key: 'step', pause: 'retry' }
export const UNDO: Kind = { key: 'undone', pause: 'undo_retry' }

/** Told of each attempt that failed and is followed by another. */
export type OnRetried = (name: string, attempt: number, error: unknown) => void

/** The attempts of the steps of a run, or of its undos. Short pauses between them are waited for in the worker. */
export class Attempts {
  readonly #calls: Calls
  readonly #kind: Kind
  /** Those whose work runs, by name: they hold their run. */
  readonly #running = new Map<string, () => void>()

  constructor(calls: Calls, kind: Kind) {
    this.#calls = calls
    this.#kind = kind
  }

  keyOf(name: string): string {
    return `${this.#kind.key}:${name}`
  }

  /** What an earlier run recorded: the result, or the attempts that failed. Then the work begins. */
  async begin(name: string): Promise<{ readonly result: unknown } | { readonly attempts: number }> {
    const key = this.keyOf(name)
    const call = `${this.#kind.pause}:${name}`
    const { replay } = this.#calls
    if (replay.recorded.has(key)) {
      replay.skipPauses(call)
      const { kind, data } = await replay.ask(key)
      if (kind === 'step_failed') throw new StepError(name, data as JobError)
      return { result: (data as { result?: unknown }).result }
    }
    let attempts = 0
    for (const attempt of replay.recorded.pausesOf(call)) {
      attempts = attempt
      await this.#calls.await({ kind: 'retry', name, key: pauseKey(call, attempt) })
      this.#calls.assertOpen()
    }
    this.#calls.goLive()
    this.#running.set(name, this.#hold(name))
    this.#calls.suspension.beginStep()
    return { attempts }
  }

  /** Not in another process, which ends its steps with its handler. */
  #hold(name: string): () => void {
    return this.#calls.run.isIsolated ? () => {} : this.#calls.hold('step', name)
  }

  /** `error`: why this attempt failed. A job that leaves the worker meanwhile has it as its own. */
  async pause(name: string, attempt: number, delayMs: number, error: unknown): Promise<void> {
    this.#calls.assertOpen()
    if (delayMs <= QUIET_MS) {
      await this.#calls.sleepHere(delayMs)
      // Its handler may have ended meanwhile.
      return this.#calls.assertOpen()
    }
    const key = pauseKey(`${this.#kind.pause}:${name}`, attempt)
    const failure = describeError(error, this.#calls.run.job.topic)
    // A handler that ends meanwhile leaves the attempts to the next run.
    this.#running.get(name)?.()
    const wait = { kind: 'retry', name, key, delayMs, failure } as const
    await this.#calls.suspension.pausing(() => this.#calls.await(wait))
    this.#calls.assertOpen()
    this.#running.set(name, this.#hold(name))
  }

  /** It does not begin: what it waited for will not be asked for again. */
  skip(name: string): void {
    this.#calls.replay.skipPauses(`${this.#kind.pause}:${name}`)
  }

  end(name: string): void {
    const release = this.#running.get(name)
    if (!release) return
    this.#running.delete(name)
    this.#calls.suspension.endStep()
    release()
  }
}
