import { type Runtime, systemRuntime } from '@oncue/runtime'
import type { Channel } from './listener.ts'
import type { Query } from './sql.ts'

/** Under a burst each name is sent this often, by each process: 50 times a second. */
const GAP_MS = 20
/** More enqueues than this within a gap are a burst: more than 400 a second. */
const CALM = 8

/**
 * In Postgres every transaction that notifies commits alone: while one of them commits, the others
 * wait. So our own enqueues, except lone ones, notify after their commit, in a statement of their own, never two of a
 * name at once. In a burst the first is sent at once, then one per gap, the last one after the last enqueue.
 * Single enqueues, each waiting for its job to be picked up, are not delayed by a gap.
 */
export class PostgresNotifier {
  readonly #channel: Channel
  readonly #send: (query: Query) => Promise<unknown>
  readonly #together: boolean
  readonly #runtime: Runtime
  /** Names that wait to be sent, by lane; a lane exists while it is busy. */
  readonly #lanes = new Map<string, { readonly names: Set<string>; done: Promise<void> }>()
  #calls = 0
  #callsBefore = 0
  #countedSince = Number.NEGATIVE_INFINITY
  readonly #closing = new AbortController()

  /**
   * `together`: one gap for all names, because there are many of them (jobs). Otherwise a busy one
   * (a queue) does not delay the others.
   */
  constructor(
    channel: Channel,
    send: (query: Query) => Promise<unknown>,
    together = false,
    runtime: Runtime = systemRuntime,
  ) {
    this.#channel = channel
    this.#send = send
    this.#together = together
    this.#runtime = runtime
  }

  notify(names: Iterable<string>): void {
    this.#count()
    for (const name of names) {
      const key = this.#together ? '' : name
      const lane = this.#lanes.get(key)
      if (lane) lane.names.add(name)
      else {
        const fresh = { names: new Set([name]), done: Promise.resolve() }
        this.#lanes.set(key, fresh)
        fresh.done = this.#run(key, fresh.names)
      }
    }
  }

  /** Sends what waits, without the gaps. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#lanes.values()].map((lane) => lane.done))
  }

  async #run(key: string, names: Set<string>): Promise<void> {
    // Those of the same turn are sent together.
    await Promise.resolve()
    while (names.size > 0) {
      const batch = [...names]
      names.clear()
      // A lost notification is not repeated: subscribers poll as well.
      await this.#send(notification(this.#channel, batch)).catch(() => {})
      if (Math.max(this.#calls, this.#callsBefore) > CALM)
        await this.#runtime.sleep(GAP_MS, { signal: this.#closing.signal })
    }
    this.#lanes.delete(key)
  }

  /** Calls within this gap and the one before. */
  #count(): void {
    const now = this.#runtime.monotonic()
    const passed = now - this.#countedSince
    if (passed >= GAP_MS) {
      this.#callsBefore = passed < 2 * GAP_MS ? this.#calls : 0
      this.#calls = 0
      this.#countedSince = now
    }
    this.#calls += 1
  }
}

/** A lone enqueue that took longer than this probably waited for the notifying commits of other processes… */
const SLOW_MS = 10
/** …so this process notifies after its commits for this long. */
const PAUSE_MS = 250

/**
 * Tells lone enqueues from others: no other one of this process is under way or began within the last gap. They may
 * notify in their own statement, which saves a round trip and makes them commit alone, at most 50 times a second.
 */
export class LoneEnqueues {
  readonly #runtime: Runtime
  #underWay = 0
  #lastAt = Number.NEGATIVE_INFINITY
  #pausedUntil = Number.NEGATIVE_INFINITY

  constructor(runtime: Runtime = systemRuntime) {
    this.#runtime = runtime
  }

  async run<T>(enqueue: (isLone: boolean) => Promise<T>): Promise<T> {
    const now = this.#runtime.monotonic()
    const isLone = this.#underWay === 0 && now - this.#lastAt >= GAP_MS && now >= this.#pausedUntil
    this.#lastAt = now
    this.#underWay += 1
    try {
      return await enqueue(isLone)
    } finally {
      this.#underWay -= 1
      const end = this.#runtime.monotonic()
      if (isLone && end - now > SLOW_MS) this.#pausedUntil = end + PAUSE_MS
    }
  }
}

/** It need not survive a power cut, so its commit does not wait for the disk, and other commits wait less for it. */
function notification(channel: Channel, names: readonly string[]): Query {
  return {
    text: `with hurried as materialized (select set_config('synchronous_commit', 'off', true))
      select pg_notify('${channel}', n) from hurried, unnest($1::text[]) as n`,
    values: [names],
  }
}

/** For a caller's transaction: delivered by its commit, and forgotten with its rollback. */
export function wakeStatements(queues: readonly string[]): Query[] {
  if (queues.length === 0) return []
  return [{ text: `select pg_notify('oncue', n) from unnest($1::text[]) as n`, values: [queues] }]
}
