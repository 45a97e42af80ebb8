import type { ClaimedJob, ClaimRequest } from '../store.ts'

/** Parallel arrays, as claim_v1 takes them. */
export type Marks = {
  readonly queues: string[]
  readonly priorities: number[]
  readonly times: Date[]
  readonly ids: string[]
}

type Mark = { readonly at: Date; readonly id: string }
type Place = ClaimedJob & { readonly visibleAt: Date }

const NIL = '00000000-0000-0000-0000-000000000000'

/** Inserts of the last moments may still be uncommitted: a mark never passes them. */
const SLACK_MS = 250
/** A full sweep may take this share of the time… */
const SWEEP_SHARE = 1 / 20
/** …and comes at least this often: it finds what was committed late or dated back. */
const SWEEP_EVERY_MS = 1_000

/**
 * Remembers, per queue and priority, up to where this process has seen the ready index.
 *
 * A transaction left open anywhere in the server stops vacuum, and the index entries of finished
 * jobs pile up at the head, where every claim would walk them again (measured: half the speed
 * after 40 000 jobs, and falling). Starting at the mark skips them. It is safe because everything
 * put back becomes visible now or later, never in the past; the rest is found by the sweep.
 */
export class LowWater {
  readonly #scopes = new Map<string, Map<number, Mark>>()
  #sweptAt = Number.NEGATIVE_INFINITY
  #sweepTook = 0

  /** The marks to start from; none when a full sweep is due. */
  marks(request: ClaimRequest, elapsedMs: number): Marks {
    const marks: Marks = { queues: [], priorities: [], times: [], ids: [] }
    if (elapsedMs - this.#sweptAt >= Math.min(SWEEP_EVERY_MS, this.#sweepTook / SWEEP_SHARE)) {
      this.#sweptAt = elapsedMs
      return marks
    }
    for (const queue of request.queues) {
      for (const [priority, { at, id }] of this.#scope(queue, request)) {
        marks.queues.push(queue)
        marks.priorities.push(priority)
        marks.times.push(at)
        marks.ids.push(id)
      }
    }
    return marks
  }

  /** Learns from what a claim that began with `marks` found, in claim order. */
  learn(request: ClaimRequest, marks: Marks, jobs: readonly Place[], now: Date, elapsedMs: number): void {
    if (marks.queues.length === 0) this.#sweepTook = elapsedMs - this.#sweptAt
    const seen: Mark = { at: new Date(now.getTime() - SLACK_MS), id: NIL }
    const last = jobs.length >= request.limit ? jobs.at(-1) : undefined
    for (const queue of request.queues) {
      const scope = this.#scope(queue, request)
      for (const job of jobs) if (job.queue === queue) scope.set(job.priority, seen)
      // A full claim stopped in the middle of this queue: what lies below has not been looked at.
      if (last?.queue === queue) {
        const place = { at: last.visibleAt, id: last.id }
        scope.set(last.priority, isBefore(place, seen) ? place : seen)
        for (const priority of scope.keys()) if (priority > last.priority) scope.set(priority, seen)
        return
      }
      for (const priority of scope.keys()) scope.set(priority, seen)
    }
  }

  #scope(queue: string, request: ClaimRequest): Map<number, Mark> {
    const key = JSON.stringify([queue, request.topics])
    const scope = this.#scopes.get(key) ?? new Map<number, Mark>()
    this.#scopes.set(key, scope)
    return scope
  }
}

function isBefore(a: Mark, b: Mark): boolean {
  return a.at.getTime() === b.at.getTime() ? a.id < b.id : a.at < b.at
}
