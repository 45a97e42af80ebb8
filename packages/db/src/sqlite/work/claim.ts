import type { Claimed, ClaimedJob, ClaimRequest, RunRef } from '../../store.ts'
import { claimedJob, type ReadyRow } from '../decode.ts'
import * as sql from '../sql.ts'
import type { Lease } from './lease.ts'
import { type Limits, type Room, type SlotRow, type Start, slotOfQueue } from './limits.ts'
import type { Statements } from './statements.ts'

/** Jobs of one priority that are due by then. */
type Level = { readonly priority: number; readonly due: number }
type Waiting = { readonly priority: number; readonly visible_at: number }
type QueueRow = {
  readonly paused_at: number | null
  readonly paused_until: number | null
  readonly ageing_ms: number | null
}

/** `expired`: their leases have expired. `cleared`: jobs were throttled, so that a second search finds others. */
type Ready = {
  readonly rows: readonly ReadyRow[]
  readonly expired: readonly ReadyRow[]
  readonly cleared: boolean
}

const ABOVE_ALL_PRIORITIES = 32_768
/** How often one claim searches a level again in which it has throttled jobs. */
const MAX_LOOKS = 20

/**
 * Claims jobs, once, in the steps of prisma/postgres/functions/claim.sql and under the same names. There is one writer,
 * so nothing is locked or skipped, and no low-water mark is needed.
 */
export class Claim {
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

  claim(): Claimed {
    for (const queue of this.#request.queues) {
      if (this.#left === 0) break
      this.#claimFrom(queue)
    }
    const found = this.#jobs.length > 0 || this.#nextDue === Number.POSITIVE_INFINITY
    return { jobs: this.#jobs, nextDue: found ? null : new Date(this.#nextDue), now: new Date(this.#now) }
  }

  #claimFrom(queue: string): void {
    const settings = this.#statements.get<QueueRow>(sql.QUEUE, queue)
    if (settings && settings.paused_at !== null) {
      const { paused_until: until } = settings
      if (until === null) return
      if (until > this.#now) {
        this.#dueAt(until)
        return
      }
    }
    const slot = this.#limits.slot(slotOfQueue(queue))
    let room = this.#left
    if (slot) {
      const limit = this.#queueRoom(slot)
      room = Math.min(room, limit.room)
      if (limit.again !== null) this.#dueAt(limit.again)
    }
    if (room === 0) return
    for (const level of this.#levels(queue, settings?.ageing_ms ?? null)) {
      for (;;) {
        const { rows, expired, cleared } = this.#ready(queue, level, room)
        if (slot) this.#limits.takeSlots(slot, rows, this.#start)
        this.#take(rows)
        room -= rows.length
        // After a first crash a job can be claimed again at once.
        if (expired.length > 0) this.#lease.crash(expired, this.#now)
        if (room === 0) return
        if (!cleared) break
        // Jobs were throttled: search this level again, a limited number of times.
        this.#looks += 1
        if (this.#looks > MAX_LOOKS) {
          this.#dueAt(this.#now)
          return
        }
      }
      if (this.#jobs.length > 0) continue
      const next = this.#statements.get<Waiting>(sql.NEXT_DUE, queue, level.priority, this.#now)
      if (next) this.#dueAt(next.visible_at)
    }
  }

  /** How many more runs a limited queue allows now. */
  #queueRoom(slot: SlotRow): Room {
    const room = this.#limits.room(slot, null, this.#now)
    if (room.room > 0 || room.again !== null) return room
    // Claims skip a full queue, so they would not find the expired leases in it.
    const crash = (runs: readonly RunRef[]) => this.#lease.crash(runs, this.#now)
    return this.#limits.freeOverdue(slot, this.#now, crash) ? this.#limits.room(slot, null, this.#now) : room
  }

  /** Aged jobs first, then the distinct priorities of a queue, from the highest down. */
  *#levels(queue: string, ageingMs: number | null): Generator<Level> {
    if (ageingMs !== null) yield* this.#agedLevels(queue, ageingMs)
    let level = this.#nextLevel(queue, ABOVE_ALL_PRIORITIES)
    while (level) {
      yield level
      level = this.#nextLevel(queue, level.priority)
    }
  }

  /**
   * The levels that ageing serves first: waiting for ageing_ms counts as much as one step of priority. For each
   * priority, up to `due`: the jobs that have waited long enough to come before those of the next level.
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
    // The sort is stable: of two equal levels the higher priority stays first.
    const sorted = waiting.toSorted((a, b) => aged(b) - aged(a))
    return sorted.map(({ priority }, n) => {
      const next = sorted[n + 1]
      const ahead = next ? Math.max(0, aged(next) - priority) : 0
      return { priority, due: this.#now - ahead * ageingMs }
    })
  }

  /** Steps from one distinct priority to the next, instead of walking their jobs. */
  #nextLevel(queue: string, below: number): Level | undefined {
    const next = this.#statements.get<{ priority: number }>(sql.NEXT_PRIORITY, queue, below)
    return next && { priority: next.priority, due: this.#now }
  }

  /** The next jobs of a level that may start, in claim order. */
  #ready(queue: string, { priority, due }: Level, limit: number): Ready {
    const values = [queue, priority, due, this.#now, this.#topics, this.#topics, limit]
    const found = this.#statements.all<ReadyRow>(sql.READY, ...values)
    const expired = found.filter((row) => row.status === 'processing')
    const pending = expired.length > 0 ? found.filter((row) => row.status === 'pending') : found
    const isKeyed = pending.some((row) => row.concurrency_key !== null)
    const rows = isKeyed ? this.#limits.holdBack(queue, pending, this.#start) : pending
    return { rows, expired, cleared: expired.length > 0 || rows.length < pending.length }
  }

  /** The first `start` jobs of a claim count as started; the others are prefetched. */
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

  get #left(): number {
    return this.#request.limit - this.#jobs.length
  }

  get #start(): Start {
    return { now: this.#now, until: this.#now + this.#request.leaseMs }
  }

  #dueAt(time: number): void {
    this.#nextDue = Math.min(this.#nextDue, time)
  }
}
