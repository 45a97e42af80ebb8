import type { ClaimedJob, ClaimRequest } from '../store.ts'

/** Parallel arrays, as the function claim takes them. */
export type Marks = {
  readonly queues: string[]
  readonly priorities: number[]
  readonly times: Mark['at'][]
  readonly ids: string[]
}

type Mark = { readonly at: Date | '-infinity'; readonly id: string }
/** What one process has seen of one queue, for one choice of topics. */
type Scope = { readonly marks: Map<number, Mark>; sweptAt: number; sweepTook: number; isSweep: boolean }
type IndexPosition = ClaimedJob & { readonly visibleAt: Date }

/** Queues of which a claim has not seen all due jobs. */
export type Unseen = {
  /** Paused, or at its limit: seen as far as the last job that was taken. */
  readonly stopped: readonly string[]
  /** Something was left behind on the way. */
  readonly skipped: readonly string[]
}
export const ALL_SEEN: Unseen = { stopped: [], skipped: [] }

const NIL = '00000000-0000-0000-0000-000000000000'
const START: Mark = { at: '-infinity', id: NIL }

/** Inserts of the last moments may still be uncommitted: a mark never passes them. */
const SLACK_MS = 250
/** A full sweep may take this share of the time… */
const SWEEP_SHARE = 1 / 20
/** …and comes at least this often: it finds what was committed late or dated back. */
const SWEEP_EVERY_MS = 1_000

/**
 * Remembers, per queue and priority, how far this process has read the ready index.
 *
 * A transaction left open anywhere in the server stops vacuum, and the index entries of finished
 * jobs pile up at the head, where every claim would walk them again (measured: half the speed
 * after 40,000 jobs, and falling). Starting at the mark skips them. It is safe because every job that is
 * put back becomes visible now or later, never in the past; the rest is found by the sweep.
 */
export class LowWater {
  readonly #scopes = new Map<string, Scope>()

  /** The marks to start from. A queue whose sweep is due, or asked for, starts at the beginning. */
  marks(request: ClaimRequest, elapsedMs: number): Marks {
    const marks: Marks = { queues: [], priorities: [], times: [], ids: [] }
    for (const queue of request.queues) {
      const scope = this.#scope(queue, request)
      const dueAt = scope.sweptAt + Math.min(SWEEP_EVERY_MS, scope.sweepTook / SWEEP_SHARE)
      scope.isSweep = request.thorough === true || elapsedMs >= dueAt
      if (scope.isSweep) scope.sweptAt = elapsedMs
      // A sweep names the priorities it knows too, so that looking for others does not walk theirs.
      for (const [priority, mark] of scope.marks) add(marks, queue, priority, scope.isSweep ? START : mark)
    }
    return marks
  }

  /** Learns from what a claim found, in claim order. */
  learn(
    request: ClaimRequest,
    jobs: readonly IndexPosition[],
    now: Date,
    elapsedMs: number,
    unseen: Unseen = ALL_SEEN,
  ): void {
    const seen = { at: new Date(now.getTime() - SLACK_MS), id: NIL }
    const last = jobs.length >= request.limit ? jobs.at(-1) : undefined
    for (const queue of request.queues) {
      const scope = this.#scope(queue, request)
      if (scope.isSweep) scope.sweepTook = elapsedMs - scope.sweptAt
      // A full claim stopped in the middle of a queue, and has not looked at those that follow.
      const isLast = last?.queue === queue
      if (!unseen.skipped.includes(queue)) {
        const found = jobs.filter((job) => job.queue === queue)
        const isPart = isLast || unseen.stopped.includes(queue)
        if (isPart) learnUpTo(scope.marks, found, seen)
        else learnAll(scope.marks, found, seen)
      }
      if (isLast) return
    }
  }

  #scope(queue: string, request: ClaimRequest): Scope {
    const key = JSON.stringify([queue, request.topics])
    const scope = this.#scopes.get(key) ?? {
      marks: new Map(),
      sweptAt: Number.NEGATIVE_INFINITY,
      sweepTook: 0,
      isSweep: false,
    }
    this.#scopes.set(key, scope)
    return scope
  }
}

function learnAll(marks: Scope['marks'], found: readonly IndexPosition[], seen: Mark): void {
  setAll(marks, found, seen)
  for (const priority of marks.keys()) marks.set(priority, seen)
}

/** Levels below the last one have not been read. */
function learnUpTo(marks: Scope['marks'], found: readonly IndexPosition[], seen: Mark & { at: Date }): void {
  const last = found.at(-1)
  if (!last) return
  const position = { at: last.visibleAt, id: last.id }
  setAll(marks, found, seen)
  for (const priority of marks.keys()) if (priority > last.priority) marks.set(priority, seen)
  marks.set(last.priority, isBefore(position, seen) ? position : seen)
}

/** Jobs of one priority are found together. */
function setAll(marks: Scope['marks'], found: readonly IndexPosition[], seen: Mark): void {
  let last: number | undefined
  for (const { priority } of found) {
    if (priority !== last) marks.set(priority, seen)
    last = priority
  }
}

function add(marks: Marks, queue: string, priority: number, { at, id }: Mark): void {
  marks.queues.push(queue)
  marks.priorities.push(priority)
  marks.times.push(at)
  marks.ids.push(id)
}

function isBefore(a: { at: Date; id: string }, b: { at: Date; id: string }): boolean {
  return a.at.getTime() === b.at.getTime() ? a.id < b.id : a.at < b.at
}
