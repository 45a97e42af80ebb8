import type { JobId } from '@oncue/core'
import type { RunRef } from '../../store.ts'
import * as sql from '../sql.ts'
import type { Statements } from './statements.ts'

export type SlotRow = {
  readonly key: string
  readonly max_running: number | null
  readonly rate_count: number | null
  readonly rate_ms: number | null
  readonly starts: string | null
  readonly waiting: number
}

/** The fields of a claimable job that limits need. */
type Candidate = {
  readonly id: JobId
  readonly run: number
  readonly concurrency_key: string | null
  readonly concurrency_limit: number | null
  readonly visible_at: number
}

/** When runs start, and when their leases end. */
export type Start = { readonly now: number; readonly until: number }

/** Ends runs whose leases have expired: Lease.crash. */
type Crash = (runs: readonly RunRef[]) => void

type ThrottledJob = { readonly id: JobId; readonly priority: number; readonly run_at: number }

type OverdueRun = RunRef & { readonly locked_until: number | null }

/** How many more may start now; and when the next may start, if the rate is used up. */
export type Room = { readonly room: number; readonly again: number | null }

const UNLIMITED = 1_000_000
/** How many keys are checked at a time: there may be as many as there are users. */
const SOME = 200

export function slotOfQueue(queue: string): string {
  return `q:${queue}`
}

function slotOfKey(concurrencyKey: string): string {
  return `k:${concurrencyKey}`
}

/** At most n of a kind run at once, or start within an interval. Exact, because one process writes at a time. */
export class Limits {
  readonly #statements: Statements
  /** Where the last check of all slots ended, and that of the slots with throttled jobs. */
  #slotsAfter = ''
  #waitingAfter = ''

  constructor(statements: Statements) {
    this.#statements = statements
  }

  slot(key: string): SlotRow | undefined {
    return this.#statements.get<SlotRow>(sql.SLOT, key)
  }

  room(slot: SlotRow, limit: number | null, now: number): Room {
    const max = slot.max_running ?? limit
    const room = max === null ? UNLIMITED : Math.max(0, max - this.#running(slot.key))
    if (slot.rate_count === null || slot.rate_ms === null) return { room, again: null }
    const recent = recentStarts(slot, now)
    const left = slot.rate_count - recent.length
    if (left > 0) return { room: Math.min(room, left), again: null }
    // The start that leaves the interval next, and so makes room for another.
    const oldest = recent[recent.length - slot.rate_count] ?? now
    return { room: 0, again: oldest + slot.rate_ms }
  }

  /** Takes slots for runs that are about to start. */
  takeSlots({ key, rate_count }: SlotRow, jobs: readonly RunRef[], { now, until }: Start): void {
    if (jobs.length === 0) return
    for (const { id, run } of jobs) this.#statements.run(sql.TAKE_SLOT, key, id, run + 1, now, until)
    const slot = rate_count === null ? undefined : this.slot(key)
    if (!slot) return
    const starts = [...recentStarts(slot, now), ...jobs.map(() => now)]
    this.#statements.run(sql.SET_STARTS, JSON.stringify(starts), key)
  }

  /**
   * Returns those of a queue's ready jobs that may start: where a concurrency key has room they take its slots. The
   * others leave the ready index and are promoted by the settle that frees a slot, so that a full key never blocks
   * its head.
   */
  holdBack<Row extends Candidate>(queue: string, rows: readonly Row[], start: Start): readonly Row[] {
    const { now } = start
    const refused = new Set<JobId>()
    for (const [key, jobs] of byKey(rows)) {
      this.#statements.run(sql.MAKE_SLOT, slotOfKey(key))
      const slot = this.slot(slotOfKey(key))
      if (!slot) continue
      const limit = lowestLimit(jobs)
      let { room } = this.room(slot, limit, now)
      if (room < jobs.length && this.freeOverdue(slot, now)) room = this.room(slot, limit, now).room
      const taken = jobs.slice(0, room)
      this.takeSlots(slot, taken, start)
      const held = jobs.slice(taken.length)
      if (held.length > 0) this.#hold(key, queue, held, taken, now)
      for (const { id } of held) refused.add(id)
      if (slot.rate_ms !== null) this.#nameSuccessors(slot, slot.rate_ms, taken.length, queue, now)
      if (slot.waiting && room > taken.length) this.#promote(key, room - taken.length, now, now, queue)
    }
    return refused.size > 0 ? rows.filter((row) => !refused.has(row.id)) : rows
  }

  /** Gives back the slots of runs that ended. Does nothing where nothing is limited. */
  freeSlots(ids: readonly JobId[], now: number): void {
    if (ids.length === 0 || !this.#statements.get(sql.ANY_SLOT_RUNS)) return
    const freed = new Map<string, number>()
    for (const { key } of this.#statements.all<{ key: string }>(sql.FREE_SLOTS, JSON.stringify(ids))) {
      if (key.startsWith('k:')) freed.set(key.slice(2), (freed.get(key.slice(2)) ?? 0) + 1)
    }
    for (const [key, count] of freed)
      if (this.slot(slotOfKey(key))?.waiting) this.#promote(key, count, now, now)
  }

  /**
   * Checks the runs of a full slot whose recorded lease end has passed. A run that is over, however it ended, gives its
   * slot back; so does one whose lease has expired, if there is a `crash` for it. Returns whether there is more room.
   */
  freeOverdue({ key }: SlotRow, now: number, crash?: Crash): boolean {
    const expired: RunRef[] = []
    let dropped = 0
    for (const { id, run, locked_until } of this.#statements.all<OverdueRun>(sql.OVERDUE, key, now)) {
      if (locked_until === null) dropped += this.#statements.run(sql.DROP_RUN, id, key)
      else if (locked_until < now) expired.push({ id, run })
      else this.#statements.run(sql.RENEW, locked_until, id, key)
    }
    if (!crash || expired.length === 0) return dropped > 0
    crash(expired)
    return true
  }

  /** Whether tendSlots() has something to check. */
  needTending(): boolean {
    return Boolean(this.#statements.get(sql.ANY_SLOT_RUNS) ?? this.#statements.get(sql.ANY_SLOTS))
  }

  /**
   * Removes slots that are no longer needed and promotes jobs that are throttled although there is room: a few per
   * call. Also crashes expired runs of full keys: no claim finds them in a queue that is paused or has no worker.
   */
  tendSlots(now: number, crash: Crash): void {
    const slots = this.#next<{ key: string }>(sql.NEXT_SLOTS, this.#slotsAfter)
    this.#slotsAfter = slots.after
    this.#statements.run(sql.DROP_IDLE_SLOTS, JSON.stringify(slots.rows.map(({ key }) => key)))
    const waiting = this.#next<SlotRow>(sql.WAITING_SLOTS, this.#waitingAfter)
    this.#waitingAfter = waiting.after
    for (const slot of waiting.rows) {
      const key = slot.key.slice(2)
      const job = this.#statements.get<{ concurrency_limit: number | null }>(sql.LIMIT_OF, key)
      const limit = job?.concurrency_limit ?? null
      let { room } = this.room(slot, limit, now)
      if (room === 0 && this.freeOverdue(slot, now, crash)) room = this.room(slot, limit, now).room
      if (room > 0) this.#promote(key, room, now, now)
    }
  }

  /** The next few after a key, and from the beginning again at the end. */
  #next<Row extends { readonly key: string }>(text: string, after: string): { rows: Row[]; after: string } {
    const rows = this.#statements.all<Row>(text, after, SOME)
    if (rows.length < SOME && after !== '') {
      const fromTheBeginning = this.#statements.all<Row>(text, '', SOME - rows.length)
      rows.push(...fromTheBeginning.filter(({ key }) => key <= after))
    }
    return { rows, after: rows.length < SOME ? '' : (rows.at(-1)?.key ?? '') }
  }

  *#heldQueues(key: string): Generator<string> {
    let queue: string | undefined = ''
    for (;;) {
      queue = this.#statements.get<{ queue: string }>(sql.NEXT_HELD_QUEUE, key, queue)?.queue
      if (queue === undefined) return
      yield queue
    }
  }

  #running(key: string): number {
    return this.#statements.get<{ running: number }>(sql.RUNNING, key)?.running ?? 0
  }

  #hold(
    key: string,
    queue: string,
    held: readonly Candidate[],
    taken: readonly Candidate[],
    now: number,
  ): void {
    for (const { id } of held) this.#statements.run(sql.HOLD_BACK, id)
    const first = Math.min(...[...taken, ...held].map((job) => job.visible_at))
    const inHand = JSON.stringify(taken.map((job) => job.id))
    this.#statements.run(sql.HOLD_BACK_OTHERS, key, queue, first, now, inHand)
    this.#statements.run(sql.SET_WAITING, slotOfKey(key))
  }

  /** Each start under a rate has a successor, for the moment when its own place in the interval is free again. */
  #nameSuccessors(slot: SlotRow, rateMs: number, taken: number, queue: string, now: number): void {
    const key = slot.key.slice(2)
    if (taken > 0) this.#promote(key, taken, now + rateMs, now, queue)
    // Runs that started before any job was throttled have none.
    if (slot.waiting) return
    for (const start of recentStarts(slot, now)) this.#promote(key, 1, start + rateMs, now, queue)
  }

  /**
   * Promotes the next throttled jobs of a key. A promoted job takes no slot until it is claimed. So a queue that has
   * a ready job of this key and does not claim it (it is paused, it is full, it has no worker) must not block the
   * others: its next jobs are promoted in addition, and the free slots go to the queues that have none ready. Jobs
   * that the claiming queue has in hand look ready, and do not count.
   */
  #promote(key: string, count: number, at: number, now: number, claiming?: string): void {
    const ids: JobId[] = []
    const inTurn: ThrottledJob[] = []
    for (const queue of this.#heldQueues(key)) {
      const held = this.#statements.all<ThrottledJob>(sql.THROTTLED, key, queue, count)
      const hasReady = queue !== claiming && this.#statements.get(sql.HAS_READY, key, queue, now)
      for (const job of held) hasReady ? ids.push(job.id) : inTurn.push(job)
    }
    inTurn.sort((a, b) => b.priority - a.priority || a.run_at - b.run_at || (a.id < b.id ? -1 : 1))
    for (const { id } of inTurn.slice(0, count)) ids.push(id)
    this.#statements.run(sql.PROMOTE, at, JSON.stringify(ids))
    if (ids.length < count) this.#statements.run(sql.NOBODY_WAITS, slotOfKey(key), key)
  }
}

/** A start that lies more than an interval ahead is from before the clock was set back. */
function recentStarts({ starts, rate_ms }: SlotRow, now: number): number[] {
  const all: number[] = starts === null ? [] : JSON.parse(starts)
  const ms = rate_ms ?? 0
  return all.filter((start) => start > now - ms && start <= now + ms).sort((a, b) => a - b)
}

function byKey(candidates: readonly Candidate[]): Map<string, Candidate[]> {
  const groups = new Map<string, Candidate[]>()
  for (const job of candidates) {
    if (job.concurrency_key === null) continue
    const group = groups.get(job.concurrency_key)
    if (group) group.push(job)
    else groups.set(job.concurrency_key, [job])
  }
  return groups
}

/** A job that names a higher limit must not let the others exceed theirs. */
function lowestLimit(jobs: readonly Candidate[]): number | null {
  const limits = jobs.flatMap((job) => job.concurrency_limit ?? [])
  return limits.length > 0 ? Math.min(...limits) : null
}
