import { WORKER_SILENT_MS } from '@oncue/core/wire'
import type { Gauge, WorkerRow } from '@oncue/db'

/** Behind a transaction pooler a worker's death is noticed only by its silence. */
function isAlive({ missingSince, lastBeat }: WorkerRow, now: Date): boolean {
  return missingSince === null && now.getTime() - lastBeat.getTime() < WORKER_SILENT_MS
}

/** The number of workers, and how many jobs they can run at once. */
export type Capacity = Pick<Gauge, 'workers' | 'slots'>

const NONE: Capacity = { workers: 0, slots: 0 }

/** The capacity of the workers that are alive: in all, and per queue. */
export class WorkerCapacity {
  readonly whole: Capacity
  readonly #byQueue = new Map<string, Capacity>()

  constructor(workers: readonly WorkerRow[], now: Date) {
    const alive = workers.filter((worker) => isAlive(worker, now))
    this.whole = alive.reduce(joinedBy, NONE)
    for (const worker of alive)
      for (const queue of new Set(worker.queues)) this.#byQueue.set(queue, joinedBy(this.of(queue), worker))
  }

  of(queue: string): Capacity {
    return this.#byQueue.get(queue) ?? NONE
  }
}

function joinedBy({ workers, slots }: Capacity, { concurrency }: WorkerRow): Capacity {
  return { workers: workers + 1, slots: slots + concurrency }
}
