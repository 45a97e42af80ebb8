import { isOncueError, OncueError } from '@oncue/core'
import { Loop, type Timer } from '@oncue/runtime'
import type { Subscription } from '../../store.ts'
import type { Sql } from '../sql.ts'
import type { JobEvent } from './event.ts'
import { listedAfter, readEvents, type StreamPosition } from './sql.ts'

export type HubOptions = {
  /** How often all streams are polled, for events without a notification; 1 s. */
  readonly pollMs?: number | undefined
  /** At least this long between two queries, however much is appended; 20 ms. */
  readonly gapMs?: number | undefined
  /** How many events a watcher gets at a time; 100. */
  readonly page?: number | undefined
}

/** How many streams one statement reads. */
const MAX_POSITIONS = 500

/**
 * Shared by all watchers of a store: one subscription to notifications, and one query for all watchers that
 * may have new events and whose reader waits for them. It reads nothing for a reader that is not waiting, so
 * that a slow reader costs at most one page of memory.
 */
export class EventHub {
  readonly #sql: Sql
  readonly #subscribe: (hear: (jobId: string | null) => void) => Promise<Subscription>
  readonly #pollMs: number
  readonly #page: number
  readonly #reading: Loop
  readonly #watchers = new Set<Watcher>()
  #news: Promise<Subscription | undefined> | undefined
  #poll: Timer | undefined
  #closed = false

  constructor(
    sql: Sql,
    subscribe: (hear: (jobId: string | null) => void) => Promise<Subscription>,
    { pollMs = 1_000, gapMs = 20, page = 100 }: HubOptions = {},
  ) {
    this.#sql = sql
    this.#subscribe = subscribe
    this.#pollMs = pollMs
    this.#page = page
    this.#reading = new Loop({
      what: 'reading events',
      runtime: sql.runtime,
      gapMs,
      keepsAlive: true,
      work: () => this.#look(),
    })
  }

  watch(jobId: string, afterVersion: number, signal: AbortSignal): AsyncIterable<JobEvent> {
    // Nothing is opened before the first read, and each reader starts at its own position.
    return { [Symbol.asyncIterator]: () => new Watcher(jobId, afterVersion, signal, this) }
  }

  /** There may be new events of this job; null: of any. */
  hear(jobId: string | null): void {
    for (const watcher of this.#watchers) {
      if (jobId === null || watcher.jobId === jobId) watcher.isStale = true
    }
    this.wanted()
  }

  enter(watcher: Watcher): void {
    if (this.#closed) throw closed()
    this.#watchers.add(watcher)
    if (this.#watchers.size > 1) return
    this.#poll = this.#sql.runtime.every(this.#pollMs, () => this.hear(null))
    this.#poll.unref()
    this.#reading.start()
    this.#news = this.#subscribe((jobId) => this.hear(jobId)).then(
      (news) => {
        // For events from before the subscription started.
        this.hear(null)
        return news
      },
      // Without notifications there is still the poll.
      () => undefined,
    )
  }

  leave(watcher: Watcher): void {
    if (!this.#watchers.delete(watcher) || this.#watchers.size > 0) return
    this.#sql.runtime.cancel(this.#poll)
    void this.#reading.stop()
    void this.#unsubscribe()
  }

  /** A reader waits, or there are new events: query soon, for all watchers of the same turn. */
  wanted(): void {
    if (this.#wanting().next().value) this.#reading.wake()
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const watcher of [...this.#watchers]) watcher.fail(closed())
    await this.#unsubscribe()
  }

  async #unsubscribe(): Promise<void> {
    const news = this.#news
    this.#news = undefined
    await (await news)?.close()
  }

  *#wanting(): Generator<Watcher, undefined> {
    for (const watcher of this.#watchers) if (watcher.isStale && watcher.isWaiting) yield watcher
  }

  /** Queries for all watchers of the same turn. Returns when to query again: when it is woken. */
  async #look(): Promise<number> {
    await this.#sql.runtime.sleep(0)
    const watchers = new Map<string, Watcher[]>()
    const positions = new Map<string, StreamPosition>()
    for (const watcher of this.#wanting()) {
      const position = { jobId: watcher.jobId, after: watcher.version }
      const key = keyOf(position.jobId, position.after)
      if (!positions.has(key) && positions.size === MAX_POSITIONS) break
      positions.set(key, position)
      watchers.set(key, [...(watchers.get(key) ?? []), watcher])
      // Events that arrive during the query make the result stale again.
      watcher.isStale = false
    }
    if (positions.size > 0) await this.#read([...positions.values()], watchers)
    this.wanted()
    return Number.POSITIVE_INFINITY
  }

  async #read(positions: StreamPosition[], watchers: Map<string, Watcher[]>): Promise<void> {
    const found = new Map<string, JobEvent[]>()
    try {
      const statement = listedAfter(this.#sql.dialect, positions, this.#page)
      for (const { after, ...event } of await readEvents<JobEvent & StreamPosition>(this.#sql, statement)) {
        const key = keyOf(event.jobId, after)
        const events = found.get(key) ?? []
        found.set(key, events)
        events.push(event)
      }
    } catch (error) {
      // The database may be down; the next poll after it is back finds what is missing.
      if (isOncueError(error) && error.retryable) return
      for (const watcher of [...watchers.values()].flat()) watcher.fail(error)
      return
    }
    for (const [key, events] of found) {
      for (const watcher of watchers.get(key) ?? []) watcher.give(events, events.length < this.#page)
    }
  }
}

function keyOf(jobId: string, after: number): string {
  return `${jobId} ${after}`
}

function closed(): OncueError {
  return new OncueError('STORE_CLOSED', 'This store was closed')
}

/**
 * One reader of one stream. Written out as an iterator, not as an async generator, because
 * `return()` of a generator would wait for a `next()` that may not end for hours.
 */
class Watcher implements AsyncIterator<JobEvent, undefined> {
  readonly jobId: string
  /** There may be events that it has not seen. */
  isStale = true
  readonly #hub: EventHub
  readonly #signal: AbortSignal
  readonly #onAbort = () => this.#end()
  #version: number
  #page: readonly JobEvent[] = []
  #at = 0
  #state: 'new' | 'open' | 'ended' = 'new'
  #error: { readonly reason: unknown } | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #wake: (() => void) | undefined

  constructor(jobId: string, afterVersion: number, signal: AbortSignal, hub: EventHub) {
    this.jobId = jobId
    this.#version = afterVersion
    this.#signal = signal
    this.#hub = hub
  }

  /** The last version that its reader got. */
  get version(): number {
    return this.#version
  }

  get isWaiting(): boolean {
    return this.#wake !== undefined
  }

  /** Concurrent calls resolve in the order in which they were made. */
  next(): Promise<IteratorResult<JobEvent, undefined>> {
    const result = this.#turn.then(() => this.#take())
    this.#turn = result.catch(() => {})
    return result
  }

  async return(): Promise<IteratorResult<JobEvent, undefined>> {
    this.#end()
    return { done: true, value: undefined }
  }

  /** A page of events after its version; `isAll`: there were no more of them. */
  give(page: readonly JobEvent[], isAll: boolean): void {
    this.#page = page
    this.#at = 0
    if (!isAll) this.isStale = true
    this.#resume()
  }

  fail(reason: unknown): void {
    this.#error = { reason }
    this.#end()
  }

  async #take(): Promise<IteratorResult<JobEvent, undefined>> {
    if (this.#state === 'new') this.#start()
    while (this.#state === 'open' && this.#at >= this.#page.length) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        this.#hub.wanted()
      })
    }
    const event = this.#page[this.#at++]
    if (this.#state === 'open' && event) {
      this.#version = event.version
      return { done: false, value: event }
    }
    const error = this.#error
    this.#error = undefined
    if (error) throw error.reason
    return { done: true, value: undefined }
  }

  #start(): void {
    if (this.#signal.aborted) {
      this.#state = 'ended'
      return
    }
    this.#hub.enter(this)
    this.#state = 'open'
    this.#signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  #end(): void {
    this.#state = 'ended'
    this.#page = []
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#hub.leave(this)
    this.#resume()
  }

  #resume(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
