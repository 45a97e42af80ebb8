import pg from 'pg'
import type { Contender } from '../contender.ts'
import { PEERS, requirePeer } from '../install.ts'
import {
  byQueue,
  CONCURRENCY,
  keyOf,
  type Payload,
  payloadOf,
  priorityOf,
  QUEUES,
  queueNames,
  type ShapeName,
} from '../shapes.ts'

/** The calls of BullMQ that are used. */
interface Module {
  readonly createPostgresBackend: unknown
  runMigrations(client: pg.Client): Promise<unknown>
  readonly Queue: new (name: string, options: object, backend: unknown) => Queue
  readonly Worker: new (
    name: string,
    handler: (job: { data: Payload; attemptsMade: number }) => Promise<unknown>,
    options: object,
    backend: unknown,
  ) => Worker
}
interface Queue {
  waitUntilReady(): Promise<unknown>
  addBulk(jobs: readonly object[]): Promise<unknown>
  getJobCountByTypes(...types: readonly string[]): Promise<number>
  close(): Promise<unknown>
}
interface Worker {
  on(event: 'error', listener: (error: Error) => void): unknown
  waitUntilReady(): Promise<unknown>
  run(): Promise<unknown>
  close(force: boolean): Promise<unknown>
}

const QUEUE = 'bench'
/** Of the range that its page on Postgres measures, 8 to 32, the fastest. */
const NO_OP_CONCURRENCY = 32
const POOL = 16
const UNFINISHED = ['waiting', 'active', 'delayed', 'prioritized', 'paused']

function optionsOf(shape: ShapeName, n: number): object {
  if (shape === 'keys') return { deduplication: { id: keyOf(n) } }
  if (shape === 'queues') return { priority: priorityOf(n) }
  return shape === 'retries' ? { attempts: 2 } : {}
}

const namesOf = (shape: ShapeName) => (shape === 'queues' ? queueNames : [QUEUE])

export const bullmq: Contender = {
  name: 'BullMQ on Postgres',
  database: 'postgres',
  version: PEERS.bullmq,
  settings: `addBulk(1,000), concurrency ${NO_OP_CONCURRENCY} (${CONCURRENCY} for 10 ms), pool of ${POOL}`,
  keeps: 'finished jobs, in the same table',
  shapes: ['no-op', '10ms', 'result', 'keys', 'retries', 'queues'],
  async produce(url, shape) {
    const { createPostgresBackend, Queue, runMigrations } = requirePeer<Module>('bullmq')
    const client = new pg.Client(url)
    await client.connect()
    await runMigrations(client)
    await client.end()
    const connection = { connectionString: url }
    const queues = new Map(
      namesOf(shape).map((name) => [name, new Queue(name, { connection }, createPostgresBackend)]),
    )
    for (const queue of queues.values()) await queue.waitUntilReady()
    return {
      async enqueue(numbers) {
        for (const [name, own] of byQueue(shape, numbers, QUEUE))
          await queues
            .get(name)
            ?.addBulk(own.map((n) => ({ name: 'bench', data: payloadOf(n), opts: optionsOf(shape, n) })))
      },
      async isDrained() {
        for (const queue of queues.values())
          if ((await queue.getJobCountByTypes(...UNFINISHED)) > 0) return false
        return true
      },
      close: () => Promise.all([...queues.values()].map((queue) => queue.close())),
    }
  },
  async work(url, { shape, handle }) {
    const { createPostgresBackend, Worker } = requirePeer<Module>('bullmq')
    const all = shape === '10ms' ? CONCURRENCY : NO_OP_CONCURRENCY
    const share = (of: number) => (shape === 'queues' ? Math.ceil(of / QUEUES) : of)
    const options = {
      connection: { connectionString: url, max: share(POOL) },
      concurrency: share(all),
      autorun: false,
    }
    const handler = async ({ data, attemptsMade }: { data: Payload; attemptsMade: number }) =>
      handle(data.n, attemptsMade + 1)
    const workers = namesOf(shape).map((name) => new Worker(name, handler, options, createPostgresBackend))
    let stopping = false
    for (const worker of workers) {
      worker.on('error', (error) => stopping || process.stderr.write(`BullMQ: ${error.message}\n`))
      await worker.waitUntilReady()
    }
    return {
      start() {
        for (const worker of workers) worker.run().catch(() => {})
      },
      stop() {
        stopping = true
        return Promise.all(workers.map((worker) => worker.close(true)))
      },
    }
  },
}
