import type { Claimed, ClaimedJob, ClaimRequest } from '../../store.ts'
import { claimedJob, type ReadyRow } from '../decode.ts'
import * as sql from '../sql.ts'
import type { Lease } from './lease.ts'
import { type Limits, type Start, slotOfQueue } from './limits.ts'
import type { Statements } from './statements.ts'

/** Jobs of one priority that were due at a moment. */
type Level = { readonly priority: number; readonly due: number }
type Waiting = { readonly priority: number; readonly visible_at: number }
type QueueRow = { readonly paused_at: number | null; readonly ageing_ms: number | null }

const ABOVE_ALL_PRIORITIES = 32_768
/** How often one claim looks again at a place from which it has moved something out of the way. */
const MAX_LOOKS = 20

/** Hands out jobs: what claim.sql does on Postgres. There is one writer, so nothing is locked or skipped. */
export class Claims {
  readonly #statements: Statements
  readonly #limits: Limits
  readonly #lease: Lease

  constructor(statements: Statements, limits: Limits, lease: Lease) {
    this.#statements = statements
    this.#limits = limits
    this.#lease = lease
  }

  claim(request: ClaimRequest, now: number): Claimed {
    const claim = new OneClaim(this.#statements, this.#limits, this.#lease, request, now)
    for (const queue of request.queues) {
      if (claim.left === 0) break
      claim.from(queue)
    }
    return claim.claimed()
  }
}

class OneClaim {
  readonly #statements: Statements
  readonly #limits: Limits
  readonly #lease: Lease
  readonly #request: ClaimRequest
  readonly #now: number
  readonly #topics: string | null
  readonly #jobs: ClaimedJob[] = []
  #nextDue = Number.POSITIVE_INFINITY
  #looks = 0

  constructor(statements: Statements, limits: Limits, lease: Lease, request: ClaimRequest, now: number) {
    this.#statements = statements
    this.#limits = limits
    this.#lease = lease
    this.#request = request
    this.#now = now
    this.#topics = request.topics ? JSON.stringify(request.topics) : null
  }

  get left(): number {
    return this.#request.limit - this.#jobs.length
  }

  claimed(): Claimed {
    const found = this.#jobs.length > 0 || this.#nextDue === Number.POSITIVE_INFINITY
    return { jobs: this.#jobs, nextDue: found ? null : new Date(this.#nextDue), now: new Date(this.#now) }
  }

  from(queue: string): void {
    const settings = this.#statements.get<QueueRow>(sql.QUEUE, queue)
    if (settings && settings.paused_at !== null) return
    const slot = this.#limits.slot(slotOfQueue(queue))
    let room = this.left
    if (slot) {
      let allowed = this.#limits.room(slot, null, this.#now)
      if (allowed.room === 0 && allowed.again === null && this.#freeOverdue(slot.key))
        allowed = this.#limits.room(slot, null, this.#now)
      room = Math.min(room, allowed.room)
      if (room === 0 && allowed.again !== null) this.#dueAt(allowed.again)
    }
    if (room === 0) return
    this.#looks = 0
    for (const level of this.#levels(queue, settings?.ageing_ms ?? null)) {
      room -= this.#fromLevel(queue, level, room, slot !== undefined)
      if (room === 0 || this.#looks > MAX_LOOKS) return
    }
  }

  /** Claims pass over a full queue, so they would not find the leases in it that are over. Answers whether there were any. */
  #freeOverdue(slot: string): boolean {
    const { expired, dropped } = this.#limits.overdue(slot, this.#now)
    if (expired.length > 0) this.#lease.crash(expired, this.#now)
    return expired.length + dropped > 0
  }

  /** The distinct priorities of a queue, in the order in which they are served. */
  *#levels(queue: string, ageingMs: number | null): Generator<Level> {
    if (ageingMs !== null) yield* this.#agedLevels(queue, ageingMs)
    let priority = this.#nextPriority(queue, ABOVE_ALL_PRIORITIES)
    while (priority !== undefined) {
      yield { priority, due: this.#now }
      priority = this.#nextPriority(queue, priority)
    }
  }

  /**
   * Waiting for ageing_ms counts as much as one step of priority. Of each priority those come first
   * that have waited long enough to come before all others; after that, by priority.
   */
  #agedLevels(queue: string, ageingMs: number): Level[] {
    const waiting: Waiting[] = []
    let below = ABOVE_ALL_PRIORITIES
    for (;;) {
      const next = this.#statements.get<Waiting>(sql.NEXT_WAITING, queue, below)
      if (!next) break
      if (next.visible_at <= this.#now) waiting.push(next)
      below = next.priority
    }
    const aged = ({ priority, visible_at }: Waiting) => priority + (this.#now - visible_at) / ageingMs
    // The sort is stable: of two that are equal the higher priority stays first.
    const sorted = waiting.toSorted((a, b) => aged(b) - aged(a))
    return sorted.map(({ priority }, n) => {
      const next = sorted[n + 1]
      const ahead = next ? Math.max(0, aged(next) - priority) : 0
      return { priority, due: this.#now - ahead * ageingMs }
    })
  }

  #nextPriority(queue: string, below: number): number | undefined {
    return this.#statements.get<Level>(sql.NEXT_PRIORITY, queue, below)?.priority
  }

  /** Answers how many it took. */
  #fromLevel(queue: string, { priority, due }: Level, room: number, isLimited: boolean): number {
    let taken = 0
    for (;;) {
      const rows = this.#statements.all<ReadyRow>(
        sql.READY,
        ...[queue, priority, due, this.#now, this.#topics, this.#topics, room - taken],
      )
      const expired = rows.filter((row) => row.status === 'processing')
      const ready = expired.length > 0 ? rows.filter((row) => row.status === 'pending') : rows
      const allowed = this.#allowed(ready)
      if (isLimited) this.#limits.take(slotOfQueue(queue), allowed, this.#start)
      this.#take(allowed)
      taken += allowed.length
      // Their leases are over. A first crash is claimable at once.
      if (expired.length > 0) this.#lease.crash(expired, this.#now)
      if (taken === room) return taken
      if (expired.length === 0 && allowed.length === ready.length) break
      // What was in the way is not there any more: look once more, within reason.
      this.#looks += 1
      if (this.#looks > MAX_LOOKS) {
        this.#dueAt(this.#now)
        return taken
      }
    }
    if (this.#jobs.length === 0) {
      const next = this.#statements.get<Waiting>(sql.NEXT_DUE, queue, priority, this.#now)
      if (next) this.#dueAt(next.visible_at)
    }
    return taken
  }

  #allowed(rows: readonly ReadyRow[]): readonly ReadyRow[] {
    if (rows.every((row) => row.concurrency_key === null)) return rows
    const refused = this.#limits.holdBack(rows, this.#start)
    return refused.size > 0 ? rows.filter((row) => !refused.has(row.id)) : rows
  }

  /** The first `start` of a claim have started; the others are prefetched. */
  #take(rows: readonly ReadyRow[]): void {
    const { limit, start = limit } = this.#request
    const started = Math.max(0, start - this.#jobs.length)
    this.#lock(rows.slice(0, started), this.#now)
    this.#lock(rows.slice(started), null)
    for (const row of rows) this.#jobs.push(claimedJob(row))
  }

  #lock(rows: readonly ReadyRow[], startedAt: number | null): void {
    if (rows.length === 0) return
    const { worker, leaseMs } = this.#request
    const ids = JSON.stringify(rows.map((row) => row.id))
    this.#statements.run(sql.CLAIM, this.#now + leaseMs, worker, startedAt, ids)
  }

  get #start(): Start {
    return { now: this.#now, until: this.#now + this.#request.leaseMs }
  }

  #dueAt(time: number): void {
    this.#nextDue = Math.min(this.#nextDue, time)
  }
}
