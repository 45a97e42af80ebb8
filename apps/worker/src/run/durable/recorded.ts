import type { Outcome, Spawned } from '@oncue/db'

/** What is recorded for a job, and which of its signals this run has taken. */
export class RecordedOutcomes {
  readonly #byKey = new Map<string, Outcome>()
  /** The attempts after which a step or an undo paused outside of the worker, by the call. */
  readonly #pauses = new Map<string, Set<number>>()
  /** Delivered signals that no receive has taken, by name. */
  readonly #signals = new Map<string, Outcome[]>()
  /** The last signal of each name that a receive has taken. */
  readonly #taken = new Map<string, number>()
  readonly #undos: string[] = []
  #last = 0

  /** The number of the last one. */
  get last(): number {
    return this.#last
  }

  /** Whether it is new. Jobs that were made together are known one by one, by the keys of their calls. */
  add(outcome: Outcome): boolean {
    if (outcome.seq > this.#last && outcome.kind === 'spawn')
      for (const [key, data] of Object.entries(outcome.data as Spawned))
        this.#byKey.set(key, { ...outcome, key, data })
    if (outcome.seq <= this.#last) return false
    this.#last = outcome.seq
    const { key, kind, name } = outcome
    if (kind === 'signal') {
      if (name !== null) this.#signals.set(name, [...(this.#signals.get(name) ?? []), outcome])
      return true
    }
    this.#byKey.set(key, outcome)
    if (kind === 'undo') this.#undos.push(key.slice('undo:'.length))
    const [, call, attempt] = PAUSE.exec(key) ?? []
    if (call !== undefined) this.#pauses.set(call, (this.#pauses.get(call) ?? new Set()).add(Number(attempt)))
    return true
  }

  get(key: string): Outcome | undefined {
    return this.#byKey.get(key)
  }

  /** It no longer counts. */
  forget(key: string): void {
    this.#byKey.delete(key)
  }

  has(key: string): boolean {
    return this.#byKey.has(key)
  }

  /** The undos that were registered and have not run, in the order of their registration. */
  get openUndos(): string[] {
    return this.#undos.filter((name) => !this.#byKey.has(`undone:${name}`))
  }

  /** The attempts of a step or an undo after which it paused, in order. Short pauses are not recorded: there may be gaps. */
  pausesOf(call: string): number[] {
    return [...(this.#pauses.get(call) ?? [])].sort((a, b) => a - b)
  }

  /** The outcome of a call by its key or, of a receive, the next signal of its name: whichever came first. */
  answerTo({ key, signal }: { readonly key: string; readonly signal?: string }): Outcome | undefined {
    const timedOut = this.#byKey.get(key)
    const next = signal === undefined ? undefined : this.#signals.get(signal)?.[0]
    if (timedOut && next) return timedOut.seq < next.seq ? timedOut : next
    return timedOut ?? next
  }

  /** Signals that no receive has taken. */
  get hasSignals(): boolean {
    return [...this.#signals.values()].some((signals) => signals.length > 0)
  }

  takeSignal(name: string, { seq }: Outcome): void {
    this.#signals.get(name)?.shift()
    this.#taken.set(name, seq)
  }

  /** The last signal of this name that was taken. */
  lastTaken(name: string): number {
    return this.#taken.get(name) ?? 0
  }
}

/** The keys of the calls that it answers. */
export function keysOf({ key, kind, data }: Outcome): string[] {
  return kind === 'spawn' ? Object.keys(data as Spawned) : [key]
}

/** Of `retry:<step>` or `undo_retry:<undo>`. */
export const pauseKey = (call: string, attempt: number) => `${call}#${attempt}`
const PAUSE = /^(?:wait:)?((?:undo_)?retry:.*)#(\d+)$/s
