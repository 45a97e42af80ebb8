import pg from 'pg'
import { count } from '../../report.ts'
import type { Contender } from '../contender.ts'
import { PEERS, requirePeer } from '../install.ts'
import {
  byQueue,
  CONCURRENCY,
  keyOf,
  type Payload,
  payloadOf,
  priorityOf,
  queueNames,
  type ShapeName,
} from '../shapes.ts'

/** The calls of pg-boss that are used. */
interface PgBoss {
  on(event: 'error', listener: (error: Error) => void): unknown
  start(): Promise<unknown>
  stop(options: { graceful: boolean; close: boolean }): Promise<unknown>
  createQueue(name: string, options: { policy?: 'exclusive' }): Promise<unknown>
  insert(name: string, jobs: readonly object[]): Promise<unknown>
  work(
    name: string,
    options: object,
    handler: (jobs: readonly BossJob[]) => Promise<readonly object[] | undefined>,
  ): Promise<unknown>
}
interface BossJob {
  readonly id: string
  readonly data: Payload
  readonly retryCount: number
}
type Module = { readonly PgBoss: new (options: { connectionString: string }) => PgBoss }

const QUEUE = 'bench'
const BATCH_SIZE = 1_000
/** Fetch loops in all processes together; more than this is slower. */
const LOOPS = 2

async function openBoss(url: string): Promise<PgBoss> {
  const { PgBoss } = requirePeer<Module>('pg-boss')
  const boss = new PgBoss({ connectionString: url })
  boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`))
  await boss.start()
  return boss
}

function jobOf(shape: ShapeName, n: number): object {
  const data = payloadOf(n)
  if (shape === 'keys') return { data, singletonKey: keyOf(n) }
  if (shape === 'queues') return { data, priority: priorityOf(n) }
  return { data }
}

const namesOf = (shape: ShapeName) => (shape === 'queues' ? queueNames : [QUEUE])

export const pgBoss: Contender = {
  name: 'pg-boss',
  database: 'postgres',
  version: PEERS['pg-boss'],
  settings:
    `insert(1,000), work with batchSize ${count(BATCH_SIZE)} and burstWhenBatchFull, ${LOOPS} fetch loops in all, ` +
    'pollingIntervalSeconds 0.5; perJobResults where jobs return or fail; policy exclusive with keys',
  keeps: 'finished jobs for 7 days, in the same table',
  shapes: ['no-op', '10ms', 'result', 'keys', 'retries', 'queues'],
  async produce(url, shape) {
    const boss = await openBoss(url)
    for (const name of namesOf(shape))
      await boss.createQueue(name, shape === 'keys' ? { policy: 'exclusive' } : {})
    const client = new pg.Client(url)
    await client.connect()
    return {
      async enqueue(numbers) {
        for (const [name, own] of byQueue(shape, numbers, QUEUE))
          await boss.insert(
            name,
            own.map((n) => jobOf(shape, n)),
          )
      },
      async isDrained() {
        const { rowCount } = await client.query(
          `select from pgboss.job where name = any ($1) and state < 'completed' limit 1`,
          [namesOf(shape)],
        )
        return rowCount === 0
      },
      async close() {
        await client.end()
        await boss.stop({ graceful: false, close: true })
      },
    }
  },
  async work(url, { shape, processes, handle }) {
    const boss = await openBoss(url)
    const localConcurrency = shape === 'queues' ? 1 : Math.max(1, Math.round(LOOPS / processes))
    const perJobResults = shape === 'result' || shape === 'retries'
    const options = {
      // All jobs of a batch run at once.
      batchSize: shape === '10ms' ? CONCURRENCY / localConcurrency : BATCH_SIZE,
      burstWhenBatchFull: true,
      pollingIntervalSeconds: 0.5,
      localConcurrency,
      perJobResults,
    }
    const settled = async ({ id, data, retryCount }: BossJob) => {
      try {
        return { id, status: 'completed', output: await handle(data.n, retryCount + 1) }
      } catch (error) {
        return { id, status: 'failed', output: { message: String(error) } }
      }
    }
    const work = async (jobs: readonly BossJob[]) => {
      if (perJobResults) return Promise.all(jobs.map(settled))
      await Promise.all(jobs.map(({ data, retryCount }) => handle(data.n, retryCount + 1)))
      return undefined
    }
    return {
      start: () => Promise.all(namesOf(shape).map((name) => boss.work(name, options, work))),
      stop: () => boss.stop({ graceful: false, close: true }),
    }
  },
}
