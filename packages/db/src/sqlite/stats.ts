import type { Delta } from '../portable/roll-up.ts'
import { bucketOf, noCounts } from '../portable/stats.ts'
import type { Statement } from '../queue/transaction.ts'

type Finished = 'completed' | 'failed' | 'cancelled'

type TallyRow = Omit<Delta, 'minute'>

/** What the statistics need of a run that ended. */
export type EndedRun = {
  readonly queue: string
  readonly topic: string
  readonly run_at: number
  readonly started_at: number | null
}

const INSERT_DELTA = `INSERT INTO oncue_stat_deltas (id, minute, queue, topic, completed, failed, cancelled, retried, waits, runs, run_ms)
VALUES (lower(hex(randomblob(16))), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const MINUTE_MS = 60_000

/** What a batch changes in the statistics: one row for each queue and topic in it. */
export class Tally {
  readonly #now: number
  readonly #deltas = new Map<string, TallyRow>()
  #last: TallyRow | undefined

  constructor(now: number) {
    this.#now = now
  }

  /** Jobs that entered this state without a run, or left it: then the count is negative. */
  count(queue: string, topic: string, status: Finished, count: number): void {
    this.#of(queue, topic)[status] += count
  }

  /** A run that failed and whose job is retried. */
  retry({ queue, topic }: EndedRun): void {
    this.#of(queue, topic).retried += 1
  }

  /** A run that ended: also how long its job waited, and how long it took. */
  run({ queue, topic, run_at, started_at }: EndedRun, status: Finished): void {
    const delta = this.#of(queue, topic)
    const started = started_at ?? this.#now
    delta[status] += 1
    delta.waits += bucketOf(started - run_at)
    delta.runs += bucketOf(this.#now - started)
    delta.runMs += this.#now - started
  }

  statements(): Statement[] {
    const minute = this.#now - (this.#now % MINUTE_MS)
    return [...this.#deltas.values()].map((delta) => ({
      text: INSERT_DELTA,
      values: [
        ...[minute, delta.queue, delta.topic, delta.completed, delta.failed, delta.cancelled],
        ...[delta.retried, delta.waits, delta.runs, delta.runMs],
      ],
    }))
  }

  #of(queue: string, topic: string): TallyRow {
    // Most jobs of a batch have the same queue and topic.
    if (this.#last?.topic === topic && this.#last.queue === queue) return this.#last
    const key = `${queue} ${topic}`
    let delta = this.#deltas.get(key)
    if (!delta) {
      delta = { queue, topic, ...noCounts(), waits: '', runs: '', runMs: 0 }
      this.#deltas.set(key, delta)
    }
    this.#last = delta
    return delta
  }
}
