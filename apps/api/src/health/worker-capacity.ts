import type { Gauge, WorkerRow } from '@oncue/db'

/** Behind a transaction pooler a death cannot be seen: a worker that is silent for this long is dead. */
const SILENT_MS = 60_000

function isAlive({ missingSince, lastBeat }: WorkerRow, now: Date): boolean {
  return missingSince === null && now.getTime() - lastBeat.getTime() < SILENT_MS
}

/** How many serve something, and how many jobs they can run at once. */
export type Serving = Pick<Gauge, 'workers' | 'slots'>

const NOBODY: Serving = { workers: 0, slots: 0 }

/** Who is alive: in all, and for a queue. */
export class WorkerCapacity {
  readonly whole: Serving
  readonly #byQueue = new Map<string, Serving>()

  constructor(workers: readonly WorkerRow[], now: Date) {
    const alive = workers.filter((worker) => isAlive(worker, now))
    this.whole = alive.reduce(joinedBy, NOBODY)
    for (const worker of alive)
      for (const queue of new Set(worker.queues)) this.#byQueue.set(queue, joinedBy(this.of(queue), worker))
  }

  of(queue: string): Serving {
    return this.#byQueue.get(queue) ?? NOBODY
  }
}

function joinedBy({ workers, slots }: Serving, { concurrency }: WorkerRow): Serving {
  return { workers: workers + 1, slots: slots + concurrency }
}
