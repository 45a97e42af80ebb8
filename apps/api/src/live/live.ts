import type { Store } from '@oncue/db'
import { HealthBoard } from './health.ts'
import { StateHub } from './states.ts'

/** What lives as long as the process and is shared by everybody who watches. */
export class Live {
  readonly states: StateHub
  readonly health: HealthBoard
  readonly #closing = new AbortController()

  constructor(store: Store) {
    this.states = new StateHub((ids) => store.glance(ids))
    this.health = new HealthBoard(store)
  }

  /** Aborted when the server stops. Its reason ends a stream without saying that it is complete, so clients come back. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  close(): void {
    this.#closing.abort()
    this.states.close()
    this.health.close()
  }
}
