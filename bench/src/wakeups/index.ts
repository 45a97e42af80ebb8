import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { openStore } from '@oncue/db'
import { createSqliteDatabase } from '@oncue/db/testing'
import type { Benchmark } from '../benchmark.ts'
import { quantile } from '../measure.ts'
import { progress, table } from '../report.ts'
import { openPostgres } from '../server.ts'
import { type Enqueued, epochMs } from './producer.ts'

const JOBS = 500

type Result = {
  readonly database: string
  /** From the call of enqueue in one process to the wake-up in another, and from its return. */
  readonly fromCall: readonly number[]
  readonly fromAnswer: readonly number[]
}

export const wakeups: Benchmark = {
  summary: 'how soon another process hears of a job, when nothing else happens',
  async run({ jobs = JOBS, database }) {
    const results: Result[] = []
    if (database !== 'sqlite') {
      const { url, close } = await openPostgres()
      results.push(await measure('Postgres', url, jobs).finally(close))
    }
    if (database !== 'postgres') {
      const { url, drop } = await createSqliteDatabase()
      results.push(await measure('SQLite', url, jobs).finally(drop))
    }
    return { data: { jobs, results }, text: textOf(results) }
  },
}

async function measure(database: string, url: string, jobs: number): Promise<Result> {
  progress(`wakeups: ${jobs} jobs on ${database} …`)
  const producer = fork(new URL('./producer.ts', import.meta.url), [url], { execArgv: [] })
  await once(producer, 'message')
  const store = await openStore(url)
  const result = { database, fromCall: [] as number[], fromAnswer: [] as number[] }
  try {
    for (let n = 0; n < jobs; n++) {
      // Idle in between, and out of step with processes that poll every few milliseconds.
      await delay(20 + Math.random() * 20)
      const { called, answered, woken } = await enqueueThere(producer, store)
      result.fromCall.push(woken - called)
      result.fromAnswer.push(Math.max(0, woken - answered))
    }
  } finally {
    await store.close()
    producer.disconnect()
    await once(producer, 'exit')
  }
  return result
}

async function enqueueThere(
  producer: ChildProcess,
  store: Awaited<ReturnType<typeof openStore>>,
): Promise<Enqueued & { woken: number }> {
  let isListening = false
  let hear: (at: number) => void = () => {}
  const heard = new Promise<number>((resolve) => {
    hear = resolve
  })
  const subscription = await store.onWake(['default'], () => isListening && hear(epochMs()))
  isListening = true
  const answer = once(producer, 'message')
  producer.send('enqueue')
  const [enqueued] = (await answer) as [Enqueued]
  const woken = await heard
  await subscription.close()
  return { ...enqueued, woken }
}

function textOf(results: readonly Result[]): string {
  const ms = (values: readonly number[], share: number) => quantile(values, share).toFixed(1)
  const rows = results.map(({ database, fromCall, fromAnswer }) => [
    database,
    ms(fromCall, 0.5),
    ms(fromCall, 0.99),
    ms(fromAnswer, 0.5),
    ms(fromAnswer, 0.99),
  ])
  return table(['ms until another process wakes', 'call p50', 'p99', 'answer p50', 'p99'], rows)
}
