import { readFileSync } from 'node:fs'
import { Logger, makeWorkerUtils, type Runner, run, runMigrations, type TaskList } from 'graphile-worker'
import pg from 'pg'
import { count } from '../../report.ts'
import type { Contender } from '../contender.ts'
import { GRAPHILE_SETTINGS } from '../graphile-settings.ts'
import { keyOf, type Payload, payloadOf, priorityOf, queueNames, queueOf, type ShapeName } from '../shapes.ts'

const TASK = 'bench'
const logger = new Logger(() => () => {})
const manifest = new URL('../package.json', import.meta.resolve('graphile-worker'))
const { localQueue, concurrentJobs } = GRAPHILE_SETTINGS

/** Its named queues run one job at a time, so tasks take the place of queues. */
function specOf(shape: ShapeName, n: number) {
  const payload = payloadOf(n)
  if (shape === 'keys') return { identifier: TASK, payload, jobKey: keyOf(n) }
  if (shape === 'queues') return { identifier: queueOf(n), payload, priority: priorityOf(n) }
  return { identifier: TASK, payload }
}

export const graphile: Contender = {
  name: 'graphile-worker',
  database: 'postgres',
  version: JSON.parse(readFileSync(manifest, 'utf8')).version,
  settings:
    `addJobs(1,000), localQueue.size ${count(localQueue.size)}, refetchDelay ${localQueue.refetchDelay.durationMs} ms, ` +
    `completeJobBatchDelay 0, failJobBatchDelay 0, concurrentJobs ${concurrentJobs}`,
  keeps: 'nothing: finished jobs are deleted',
  shapes: ['no-op', '10ms', 'keys', 'retries', 'queues'],
  // exp(attempts) seconds, in its SQL.
  waitsBeforeRetry: true,
  async produce(url, shape) {
    await runMigrations({ connectionString: url, logger })
    const utils = await makeWorkerUtils({ connectionString: url, logger })
    const client = new pg.Client(url)
    await client.connect()
    return {
      enqueue: (numbers) => utils.addJobs(numbers.map((n) => specOf(shape, n))),
      async isDrained() {
        const { rowCount } = await client.query('select from graphile_worker._private_jobs limit 1')
        return rowCount === 0
      },
      async close() {
        await client.end()
        await utils.release()
      },
    }
  },
  async work(url, { shape, handle }) {
    let runner: Runner | undefined
    const task: TaskList[string] = async (payload, { job }) => {
      await handle((payload as Payload).n, job.attempts)
    }
    const names = shape === 'queues' ? queueNames : [TASK]
    return {
      async start() {
        runner = await run({
          preset: { worker: { connectionString: url, logger, ...GRAPHILE_SETTINGS } },
          taskList: Object.fromEntries(names.map((name) => [name, task])),
          parsedCronItems: [],
          noHandleSignals: true,
        })
      },
      stop: async () => runner?.stop(),
    }
  },
}
