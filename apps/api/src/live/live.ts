import { OncueError } from '@oncue/core'
import type { OperationRow } from '@oncue/db'
import type { Services } from '../context.ts'
import { alertBoard, type OpenAlerts } from './alerts.ts'
import { HealthBoard } from './health.ts'
import type { Board } from './polled-value.ts'
import { StateHub } from './states.ts'

/** Streams and waits of one caller: far more than a team has screens, far fewer than a loop opens. */
const MAX_OPEN = 1_000

/** What lives as long as the process and is shared by everybody who watches. */
export class Live {
  readonly states: StateHub
  readonly operations: StateHub<OperationRow>
  readonly health: HealthBoard
  readonly alerts: Board<OpenAlerts>
  readonly #closing = new AbortController()
  readonly #open = new Map<string, number>()

  constructor({ store, control }: Pick<Services, 'store' | 'control'>, environment: string | null = null) {
    this.states = new StateHub((ids) => store.glance(ids))
    this.operations = new StateHub((ids) => control.operations.find(ids))
    this.health = new HealthBoard({ store, control }, environment)
    this.alerts = alertBoard({ store, control })
  }

  /** Aborted when the server stops. Its reason ends a stream without saying that it is complete, so clients come back. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** One stream or wait more of this caller, until the answer is called. */
  enter(caller: string): () => void {
    const open = this.#open.get(caller) ?? 0
    if (open >= MAX_OPEN)
      throw new OncueError('RATE_LIMITED', `More than ${MAX_OPEN} streams and waits are open`, {
        hint: 'Close those that are not needed, or wait for many jobs with another token.',
      })
    this.#open.set(caller, open + 1)
    return () => {
      const left = (this.#open.get(caller) ?? 1) - 1
      if (left > 0) this.#open.set(caller, left)
      else this.#open.delete(caller)
    }
  }

  close(): void {
    this.#closing.abort()
    this.states.close()
    this.operations.close()
    this.health.close()
    this.alerts.close()
  }
}
