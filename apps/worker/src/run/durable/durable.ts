import type { JobDefinition, OncueError } from '@oncue/core'
import type { Store } from '@oncue/db'
import type { Runtime } from '@oncue/runtime'
import type { OutcomeRecorder } from '../outcome-recorder.ts'
import { notAwaited } from '../own-transactions.ts'
import { Calls, type DurableRun } from './calls.ts'
import { Changes } from './changes.ts'
import { ChildCalls } from './child-calls.ts'
import { StepCalls, type StepsTold } from './step-calls.ts'
import { UndoCalls, type UndoTold } from './undo-calls.ts'
import { WaitCalls } from './wait-calls.ts'

export interface DurableOptions extends StepsTold, UndoTold {
  readonly store: Pick<Store, 'durable'>
  readonly recorder: OutcomeRecorder
  readonly runtime: Runtime
  readonly definition: Pick<JobDefinition, 'signals'>
  /** A result of a child, by the schema of its topic. */
  readonly parseResult: (topic: string, result: unknown) => unknown
}

/** What a run remembers and waits for: `Replay` decides when each call is answered, `Suspension` when the run leaves. */
export class Durable {
  readonly steps: StepCalls
  readonly waits: WaitCalls
  readonly children: ChildCalls
  readonly changes: Changes
  readonly undos: UndoCalls
  readonly #calls: Calls

  constructor(run: DurableRun, options: DurableOptions) {
    const calls = new Calls(run, options)
    this.#calls = calls
    this.steps = new StepCalls(calls, options)
    this.waits = new WaitCalls(calls, options.definition)
    this.children = new ChildCalls(calls, options)
    this.changes = new Changes(calls)
    this.undos = new UndoCalls(calls, options)
  }

  /** A resume that has only repeated what earlier runs did: its logs were written by them. */
  get isReplaying(): boolean {
    return this.#calls.isReplaying
  }

  /** A call of the context that is no wait has begun or ended. */
  stir(): void {
    const { suspension, replay } = this.#calls
    suspension.noteCall()
    replay.stir()
    suspension.stir()
  }

  /** The worker stops: the run is suspended as soon as it only waits. */
  hurry(): void {
    this.#calls.suspension.hurry()
  }

  /** The run is asked to stop: its waits end. */
  abort(error: OncueError): void {
    this.#calls.suspension.rejectAll(error)
    this.#calls.replay.tellFailures()
  }

  /** The handler has ended; undefined: nothing that must be recorded is under way. */
  leave(hasFailed: boolean): Promise<void> | undefined {
    return this.#calls.leave(hasFailed)
  }

  /** Before the handler ends its job itself: what is under way could not be written afterwards. */
  assertAllAwaited(): void {
    const { held } = this.#calls
    if (held.length > 0) throw notAwaited(held)
  }

  /** The run has ended: releases timers and whatever is open. */
  close(): void {
    this.#calls.close()
  }
}
