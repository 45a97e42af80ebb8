import { isOncueError } from '@oncue/core'
import type { JobGlance } from '@oncue/db'
import { Loop, type Runtime, systemRuntime } from '@oncue/runtime'

/** Null: it does not exist, or no longer. */
export interface Onlooker<State = JobGlance> {
  see(state: State | null): void
  fail(error: unknown): void
}

export interface StateHubOptions {
  /** How often everything that is watched is read; 500 ms. */
  readonly pollMs?: number | undefined
  /** Newcomers within this time share their first read; 25 ms. */
  readonly gapMs?: number | undefined
  /** How often newcomers in a hurry are read in addition, and for how long; 100 ms, 2 s. */
  readonly hurryMs?: number | undefined
  readonly hurryForMs?: number | undefined
  readonly runtime?: Runtime | undefined
}

/** Per statement. */
const MAX_IDS = 1_000

/**
 * One for all watched jobs, and one for all watched bulk operations: a single query every 500 ms reads the state of all of
 * them, however many watch. The database sends no notification when a run ends, so polling is the only way. A job that was
 * enqueued a moment ago usually finishes soon, so newcomers in a hurry are read more often at first.
 */
export class StateHub<State = JobGlance> {
  readonly #glance: (ids: readonly string[]) => Promise<Map<string, State>>
  readonly #runtime: Runtime
  readonly #gapMs: number
  readonly #hurryMs: number
  readonly #hurryForMs: number
  readonly #onlookers = new Map<string, Set<Onlooker<State>>>()
  /** Until when they are in a hurry. */
  readonly #newcomers = new Map<Onlooker<State>, { readonly id: string; readonly until: number }>()
  readonly #polling: Loop
  readonly #welcoming: Loop

  constructor(
    glance: (ids: readonly string[]) => Promise<Map<string, State>>,
    {
      pollMs = 500,
      gapMs = 25,
      hurryMs = 100,
      hurryForMs = 2_000,
      runtime = systemRuntime,
    }: StateHubOptions = {},
  ) {
    this.#glance = glance
    this.#runtime = runtime
    this.#gapMs = gapMs
    this.#hurryMs = hurryMs
    this.#hurryForMs = hurryForMs
    this.#polling = new Loop({
      what: 'polling states',
      firstMs: pollMs,
      runtime,
      work: async () => {
        await this.#look(this.#onlookers)
        return pollMs
      },
    })
    // However many newcomers there are, it runs once in `hurryMs`.
    this.#welcoming = new Loop({
      what: 'reading the states of newly watched jobs',
      gapMs: hurryMs,
      runtime,
      work: (signal) => this.#welcome(signal),
    })
  }

  /** How many watch. */
  get size(): number {
    return [...this.#onlookers.values()].reduce((sum, onlookers) => sum + onlookers.size, 0)
  }

  /** The onlooker sees the state soon, and again with every poll, changed or not. Returns how to leave. */
  watch(id: string, onlooker: Onlooker<State>, { isInHurry = false } = {}): () => void {
    add(this.#onlookers, id, onlooker)
    const until = this.#runtime.monotonic() + (isInHurry ? this.#hurryForMs : 0)
    this.#newcomers.set(onlooker, { id, until })
    this.#polling.start()
    this.#welcoming.start()
    this.#welcoming.wake()
    return () => {
      remove(this.#onlookers, id, onlooker)
      this.#newcomers.delete(onlooker)
      if (this.#onlookers.size === 0) void this.#polling.stop()
    }
  }

  async stop(): Promise<void> {
    this.#onlookers.clear()
    this.#newcomers.clear()
    await Promise.all([this.#polling.stop(), this.#welcoming.stop()])
  }

  async #welcome(signal: AbortSignal): Promise<number> {
    if (this.#newcomers.size === 0) return Number.POSITIVE_INFINITY
    const nextAt = this.#runtime.monotonic() + this.#hurryMs
    await this.#runtime.sleep(this.#gapMs, { signal, unref: true })
    const now = this.#runtime.monotonic()
    const newcomers = new Map<string, Set<Onlooker<State>>>()
    for (const [onlooker, { id, until }] of this.#newcomers) {
      add(newcomers, id, onlooker)
      if (until <= now) this.#newcomers.delete(onlooker)
    }
    await this.#look(newcomers)
    if (this.#newcomers.size === 0) return Number.POSITIVE_INFINITY
    return Math.max(0, nextAt - this.#runtime.monotonic())
  }

  async #look(watched: ReadonlyMap<string, ReadonlySet<Onlooker<State>>>): Promise<void> {
    const ids = [...watched.keys()]
    for (let i = 0; i < ids.length; i += MAX_IDS) {
      const asked = ids.slice(i, i + MAX_IDS)
      // Onlookers who come during the query must not be shown a state from before.
      const onlookers = asked.map((id) => [...(watched.get(id) ?? [])])
      try {
        const glances = await this.#glance(asked)
        asked.forEach((id, n) => {
          for (const onlooker of onlookers[n] ?? []) onlooker.see(glances.get(id) ?? null)
        })
      } catch (error) {
        // The next poll reads what an unreachable database did not return.
        if (isOncueError(error) && error.retryable) continue
        for (const onlooker of onlookers.flat()) onlooker.fail(error)
      }
    }
  }
}

function add<Item>(map: Map<string, Set<Item>>, id: string, onlooker: Item): void {
  const set = map.get(id) ?? new Set()
  map.set(id, set.add(onlooker))
}

function remove<Item>(map: Map<string, Set<Item>>, id: string, onlooker: Item): void {
  const set = map.get(id)
  set?.delete(onlooker)
  if (set?.size === 0) map.delete(id)
}
