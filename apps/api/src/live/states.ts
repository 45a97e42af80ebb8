import { isOncueError } from '@oncue/core'
import type { JobGlance } from '@oncue/db'

/** Null: there is no such thing, or no longer. */
export interface Onlooker<State = JobGlance> {
  see(state: State | null): void
  fail(error: unknown): void
}

export interface StateHubOptions {
  /** How often all that is watched is looked at; 500 ms. */
  readonly pollMs?: number | undefined
  /** Those who come within this time share their first look; 25 ms. */
  readonly gapMs?: number | undefined
  /** How often those in a hurry are looked at beside, and for how long; 100 ms, 2 s. */
  readonly hurryMs?: number | undefined
  readonly hurryForMs?: number | undefined
}

/** In one statement. */
const MAX_IDS = 1_000

/**
 * One for all who watch jobs, and one for operations: however many they are, one query every half second asks
 * for all that they watch. Nobody is told when a run ends, so there is no way around asking. Whoever waits for a job that was
 * enqueued a moment ago mostly has its result soon, so those in a hurry are looked at more often at first.
 */
export class StateHub<State = JobGlance> {
  readonly #glance: (ids: readonly string[]) => Promise<Map<string, State>>
  readonly #pollMs: number
  readonly #gapMs: number
  readonly #hurryMs: number
  readonly #hurryForMs: number
  readonly #onlookers = new Map<string, Set<Onlooker<State>>>()
  /** Until when they are in a hurry. */
  readonly #newcomers = new Map<Onlooker<State>, { readonly id: string; readonly until: number }>()
  #poll: NodeJS.Timeout | undefined
  #soon: NodeJS.Timeout | undefined
  #welcomed = Number.NEGATIVE_INFINITY

  constructor(
    glance: (ids: readonly string[]) => Promise<Map<string, State>>,
    { pollMs = 500, gapMs = 25, hurryMs = 100, hurryForMs = 2_000 }: StateHubOptions = {},
  ) {
    this.#glance = glance
    this.#pollMs = pollMs
    this.#gapMs = gapMs
    this.#hurryMs = hurryMs
    this.#hurryForMs = hurryForMs
  }

  /** How many watch. */
  get size(): number {
    return [...this.#onlookers.values()].reduce((sum, onlookers) => sum + onlookers.size, 0)
  }

  /** The onlooker sees the state soon, and then again and again, changed or not. Answers how to leave. */
  watch(id: string, onlooker: Onlooker<State>, { isInHurry = false } = {}): () => void {
    add(this.#onlookers, id, onlooker)
    this.#newcomers.set(onlooker, { id, until: performance.now() + (isInHurry ? this.#hurryForMs : 0) })
    this.#poll ??= setTimeout(() => void this.#pollAll(), this.#pollMs)
    this.#welcomeSoon()
    return () => {
      remove(this.#onlookers, id, onlooker)
      this.#newcomers.delete(onlooker)
    }
  }

  close(): void {
    clearTimeout(this.#poll)
    clearTimeout(this.#soon)
    this.#onlookers.clear()
    this.#newcomers.clear()
  }

  /** However many come, and however often, there is one such look in `hurryMs`. */
  #welcomeSoon(): void {
    const next = this.#welcomed + this.#hurryMs - performance.now()
    this.#soon ??= setTimeout(() => void this.#welcome(), Math.max(this.#gapMs, next))
  }

  async #welcome(): Promise<void> {
    this.#welcomed = performance.now()
    const newcomers = new Map<string, Set<Onlooker<State>>>()
    for (const [onlooker, { id, until }] of this.#newcomers) {
      add(newcomers, id, onlooker)
      if (until <= this.#welcomed) this.#newcomers.delete(onlooker)
    }
    await this.#look(newcomers)
    this.#soon = undefined
    if (this.#newcomers.size > 0) this.#welcomeSoon()
  }

  async #pollAll(): Promise<void> {
    await this.#look(this.#onlookers)
    this.#poll = this.#onlookers.size > 0 ? setTimeout(() => void this.#pollAll(), this.#pollMs) : undefined
  }

  async #look(watched: ReadonlyMap<string, ReadonlySet<Onlooker<State>>>): Promise<void> {
    const ids = [...watched.keys()]
    for (let i = 0; i < ids.length; i += MAX_IDS) {
      const asked = ids.slice(i, i + MAX_IDS)
      // Those who come while the answer is on its way are not told what was before them.
      const onlookers = asked.map((id) => [...(watched.get(id) ?? [])])
      try {
        const glances = await this.#glance(asked)
        asked.forEach((id, n) => {
          for (const onlooker of onlookers[n] ?? []) onlooker.see(glances.get(id) ?? null)
        })
      } catch (error) {
        // A database that is away comes back, and the next look finds what is missing.
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
