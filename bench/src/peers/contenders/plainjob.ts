import Database from 'better-sqlite3'
import type { Contender } from '../contender.ts'
import { PEERS, requirePeer } from '../install.ts'
import { CONCURRENCY, type Payload, payloadOf } from '../shapes.ts'

/** The calls of plainjob that are used. */
interface Module {
  better(database: Database.Database): unknown
  defineQueue(options: { connection: unknown; logger: object }): Queue
  defineWorker(
    type: string,
    handler: (job: { data: string }) => Promise<void>,
    options: { queue: Queue; logger: object },
  ): { start(): Promise<void>; stop(): Promise<void> }
  readonly JobStatus: { readonly Pending: number; readonly Processing: number }
}
interface Queue {
  addMany(type: string, data: readonly Payload[]): unknown
  countJobs(options: { type: string; status: number }): number
  close(): void
}

const TYPE = 'bench'
const quiet = () => {}
const logger = { info: quiet, debug: quiet, warn: quiet, error: quiet }

function open(url: string): { queue: Queue; plainjob: Module } {
  const plainjob = requirePeer<Module>('plainjob')
  const connection = plainjob.better(new Database(url.slice('file:'.length)))
  return { queue: plainjob.defineQueue({ connection, logger }), plainjob }
}

export const plainjob: Contender = {
  name: 'plainjob',
  database: 'sqlite',
  version: PEERS.plainjob,
  settings: `addMany(1,000), one worker a process (${CONCURRENCY} for 10 ms), its synchronous=NORMAL`,
  keeps: 'finished jobs for 7 days, in the same table',
  shapes: ['no-op', '10ms'],
  async produce(url) {
    const { queue, plainjob } = open(url)
    const { Pending, Processing } = plainjob.JobStatus
    return {
      enqueue: async (numbers) => queue.addMany(TYPE, numbers.map(payloadOf)),
      isDrained: async () =>
        [Pending, Processing].every((status) => queue.countJobs({ type: TYPE, status }) === 0),
      close: async () => queue.close(),
    }
  },
  async work(url, { shape, handle }) {
    const { queue, plainjob } = open(url)
    const handler = async ({ data }: { data: string }) => {
      await handle((JSON.parse(data) as Payload).n, 1)
    }
    // A worker runs one job at a time.
    const workers = Array.from({ length: shape === '10ms' ? CONCURRENCY : 1 }, () =>
      plainjob.defineWorker(TYPE, handler, { queue, logger }),
    )
    let running: Promise<unknown> = Promise.resolve()
    return {
      start() {
        running = Promise.all(workers.map((worker) => worker.start()))
      },
      async stop() {
        await Promise.all(workers.map((worker) => worker.stop()))
        await running
        queue.close()
      },
    }
  },
}
