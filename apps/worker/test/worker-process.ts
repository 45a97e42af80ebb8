import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import {
  defineJobs,
  defineWorkers,
  type JobId,
  job,
  PermanentError,
  prepareJob,
  type RunningJob,
} from '@oncue/core'
import { openStore } from '@oncue/db'
import { Gate, nap } from '@oncue/testing'
import { z } from 'zod'
import { silentLogger, startWorker, type WorkerOptions } from '../src/index.ts'

/** A worker in a process of its own, configured by its arguments and controlled by messages. */
export interface Said {
  readonly url: string
  readonly options: Omit<Partial<WorkerOptions>, 'store' | 'workers' | 'log'> & {
    /** How many workers. */
    readonly count?: number
    /** The file in which handlers note what they did outside of the database. */
    readonly notes?: string
    /** How far the clock of its store is ahead, in milliseconds. */
    readonly aheadMs?: number
  }
}

export type ToProcess =
  /** Lets handlers of `hold` return. */
  | { readonly finish: true }
  | { readonly enqueue: { readonly topic: string; readonly count: number } }
  /** Asks for the stats of all its workers. */
  | { readonly stats: true }

export type FromProcess =
  | { readonly ready: readonly string[] }
  /** SIGTERM has arrived: nothing is claimed from now on. */
  | { readonly stopping: true }
  | { readonly started: JobId }
  /** A step or an undo of a durable job has had its effect, and is not recorded yet. */
  | { readonly stepped: JobId; readonly n: number }
  | { readonly stats: ProcessStats[] }

export interface ProcessStats {
  readonly claimed: number
  /** However it ends. */
  readonly settled: number
  readonly completed: number
  readonly stale: number
  readonly lost: number
}

const { url, options } = JSON.parse(process.argv[2] ?? '') as Said
const tell = (message: FromProcess) => process.send?.(message)

const finished = new Gate()

const workers = {
  noop: async () => null,

  nap: () => nap(20),

  /** Runs until it is told to finish. */
  async hold({ id }: RunningJob) {
    tell({ started: id })
    await finished.opened
    return process.pid
  },

  /** Blocks the event loop for this long. */
  async block({ id, payload }: RunningJob) {
    tell({ started: id })
    // So that the message above is sent before the loop is blocked.
    await new Promise(setImmediate)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, (payload as { ms: number }).ms)
    return process.pid
  },

  async spin({ id }: RunningJob) {
    tell({ started: id })
    await new Promise(setImmediate)
    for (;;) {}
  },

  /** Fails a third of its runs. */
  async flaky() {
    if (Math.random() < 1 / 3) throw new Error('bad luck')
    return null
  },
}

const { count = 1, notes, aheadMs, ...rest } = options

const durable = defineWorkers(
  defineJobs({
    counted: job({
      input: z.object({ steps: z.int() }),
      signals: { go: z.int() },
      timeoutMs: 60_000,
      retry: { max: 1_000 },
    }),
    family: job({ input: z.object({ rounds: z.int(), children: z.int() }), retry: { max: 1_000 } }),
    leaf: job({ input: z.int(), output: z.int(), retry: { max: 1_000 } }),
    saga: job({ input: z.object({ steps: z.int() }), retry: { max: 1_000 } }),
  }),
  {
    /** Notes each step in a file, and waits for a signal in the middle. */
    async counted({ id, payload }, { step, receive, sleep }) {
      const results: (string | number)[] = []
      for (let n = 0; n < payload.steps; n++) {
        results.push(await step(`step ${n}`, () => countStep(id, n)))
        if (n === payload.steps / 4) await sleep('rest', 1_100)
        if (n === payload.steps / 2) results.push((await receive('go')).value ?? -1)
      }
      return results
    },

    /** Waits for children, round by round. */
    async family({ payload: { rounds, children } }, { spawn, all }) {
      const results: number[][] = []
      for (let round = 0; round < rounds; round++) {
        const leaves = Array.from({ length: children }, (_, n) => spawn('leaf', round * children + n))
        results.push(await all(leaves))
      }
      return results
    },

    /** Fails when all is done, and notes each undo in a file. */
    async saga({ id, payload }, { step, undo }) {
      for (let n = 0; n < payload.steps; n++) {
        await step(`step ${n}`, () => n)
        await undo(`undo ${n}`, () => noteUndo(id, n))
      }
      throw new PermanentError('no stock')
    },

    async leaf({ payload }) {
      await nap(3)
      return payload
    },
  },
)

/** Another result each time: one that was recorded must be the one that later runs get. */
async function countStep(id: JobId, n: number): Promise<string> {
  await nap(3)
  const result = `${n} ${randomUUID()}`
  if (notes) appendFileSync(notes, `${id} ${result}\n`)
  tell({ stepped: id, n })
  return result
}

async function noteUndo(id: JobId, n: number): Promise<void> {
  await nap(10)
  if (notes) appendFileSync(notes, `${id} ${n}\n`)
  tell({ stepped: id, n })
}

const clock = aheadMs === undefined ? undefined : () => new Date(Date.now() + aheadMs)
const store = await openStore(url, { clock })
const started = await Promise.all(
  Array.from({ length: count }, () =>
    startWorker({ maintenance: false, ...rest, store, workers: [workers, durable], log: silentLogger }),
  ),
)

process.on('SIGTERM', async () => {
  const stopped = started.map((worker) => worker.stop({ graceMs: 5_000 }))
  tell({ stopping: true })
  await Promise.all(stopped)
  await store.close()
  process.exitCode = 0
  process.disconnect()
})
process.on('message', async (message: ToProcess) => {
  if ('finish' in message) finished.open()
  if ('enqueue' in message) {
    const { topic, count: jobs } = message.enqueue
    await store.enqueue(Array.from({ length: jobs }, () => prepareJob(topic, null)))
  }
  if ('stats' in message) {
    const stats = started.map((worker): ProcessStats => {
      const { claimed, settled, stale, lost } = worker.stats()
      const ends = Object.values(settled).reduce((a, b) => a + b, 0)
      return { claimed, settled: ends, completed: settled.complete, stale, lost }
    })
    tell({ stats })
  }
})
process.on('disconnect', () => process.exit())
tell({ ready: started.map((worker) => worker.id) })
