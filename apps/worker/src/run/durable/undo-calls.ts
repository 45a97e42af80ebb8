import { isOncueError, OncueError, type StepOptions } from '@oncue/core'
import {
  assertCallName,
  assertNotNested,
  assertStepOptions,
  createSteps,
  type StepRecord,
  type Work,
} from '../steps.ts'
import { Attempts, type OnRetried, UNDO } from './attempts.ts'
import type { Calls } from './calls.ts'
import { type RegisteredUndo, type UndoEnd, undoFailed, undoMissing, withUndoRetry } from './undo.ts'

/** Throws if it cannot be registered. */
export function assertUndo(name: unknown, work: unknown, options: StepOptions): void {
  assertNotNested('undo')
  assertCallName(name, 'undo')
  assertStepOptions(options)
  if (typeof work !== 'function') {
    throw new OncueError('INVALID_INPUT', `ctx.undo(${JSON.stringify(name)}) needs a function that undoes`)
  }
}

/** Who hears of the undos that run. */
export interface UndoTold {
  readonly onUndone: (name: string) => void
  readonly onUndoRetried: OnRetried
}

/** `ctx.undo`, and the run of what it registered. */
export class UndoCalls {
  readonly #calls: Calls
  readonly #attempts: Attempts
  readonly #told: UndoTold
  readonly #undos = new Map<string, RegisteredUndo>()

  constructor(calls: Calls, told: UndoTold) {
    this.#calls = calls
    this.#attempts = new Attempts(calls, UNDO)
    this.#told = told
  }

  async register(name: string, work: Work, options: StepOptions): Promise<void> {
    assertUndo(name, work, options)
    const calls = this.#calls
    const key = calls.claim(`undo:${name}`, 'undo', name)
    // At once: a handler that does not wait for it may throw before it is recorded.
    this.#undos.set(name, { work, options })
    await calls.calling(async () => {
      const release = calls.hold('undo', name)
      try {
        await calls.loadFor(key)
        if (calls.replay.recorded.has(key)) return void (await calls.replay.ask(key))
        if (calls.stopsAt(key)) return calls.hang(key)
        calls.goLive()
        await calls.suspension.working(() => calls.replay.record({ key, kind: 'undo' }))
      } finally {
        release()
      }
    })
  }

  /**
   * Runs what was registered and has not run, the last one first. The handler is over, or dropped: `thrown` is what it threw. One
   * that fails ends it: those before it may rely on what it undoes.
   */
  async runAll(thrown: unknown): Promise<UndoEnd> {
    const calls = this.#calls
    try {
      await calls.load()
    } catch (error) {
      return { how: 'not_undone', error, isFinal: false }
    }
    calls.dropHandler()
    const open = calls.replay.recorded.openUndos
    const missing = open.filter((name) => !this.#undos.has(name))
    if (missing.length > 0 && !calls.run.aborted) return undoMissing(missing, thrown)
    calls.goLive()
    // Undos tell by `#told`.
    const { step: undo } = createSteps(this.#record(), calls.runtime, async () => {})
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      const { work, options } = this.#undos.get(name) as RegisteredUndo
      try {
        calls.run.signal.throwIfAborted()
        await undo(name, async (signal) => void (await work(signal)), withUndoRetry(options))
      } catch (error) {
        const { aborted, signal } = calls.run
        // A run that was asked to stop leaves the rest to the next one.
        if (aborted) return { how: 'not_undone', error: signal.reason, isFinal: false }
        const isAway = isOncueError(error) && error.retryable && !isOncueError(error, 'STEP_TIMEOUT')
        // The process of an isolated handler has died, and with it the undos.
        const isLost = isOncueError(error, 'WORKER_CRASHED')
        return isAway || isLost ? { how: 'not_undone', error, isFinal: false } : undoFailed(name, open, error)
      }
    }
    return { how: 'undone' }
  }

  /** An undo is a step without a result, whose last failure is told by the end of its run. */
  #record(): StepRecord {
    const calls = this.#calls
    const attempts = this.#attempts
    return {
      begin: (name) => calls.suspension.calling(() => attempts.begin(name)),
      finish: async (name) => {
        try {
          calls.assertMine()
          await calls.replay.record({ key: attempts.keyOf(name), kind: 'undone' })
          this.#told.onUndone(name)
        } finally {
          attempts.end(name)
        }
      },
      fail: async (name) => attempts.end(name),
      pause: (name, attempt, delayMs, error) => {
        this.#told.onUndoRetried(name, attempt, error)
        return attempts.pause(name, attempt, delayMs, error)
      },
      unstored: (name) => attempts.end(name),
      signal: calls.run.signal,
      get isEnding() {
        return calls.isEnding
      },
    }
  }
}
