import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { newJobId } from '@oncue/core'
import { createSqliteDatabase } from '@oncue/db/testing'
import Database from 'better-sqlite3'
import type { Benchmark } from '../benchmark.ts'
import { median, quantile } from '../measure.ts'
import { count, percent, progress, table } from '../report.ts'
import { openPostgres } from '../server.ts'
import { type Call, type Load, send } from './load.ts'

/** The goal: at least this share of the speed of a bare route. */
const GOAL = 0.6
const CONNECTIONS = 32
const BATCH = 100
const ADMIN_TOKEN = `oncue_${'bench'.padEnd(43, '0')}`

type Name = 'oncue' | 'bare'
const NAMES: readonly Name[] = ['oncue', 'bare']

interface Step {
  readonly name: string
  /** How many jobs a request has, and how many requests there are for each of `--jobs`. */
  readonly jobsPerRequest: number
  readonly calls: Readonly<Record<Name, Call>>
}

type Played = Load & { readonly cpu: number }

interface Result {
  readonly step: string
  readonly ratios: readonly number[]
  readonly ratio: number
  readonly requestsPerSecond: Readonly<Record<Name, number>>
  readonly jobsPerSecond: Readonly<Record<Name, number>>
  readonly p50: Readonly<Record<Name, number>>
  readonly p99: Readonly<Record<Name, number>>
  /** CPU time of the server's process alone, in microseconds per request. */
  readonly cpu: Readonly<Record<Name, number>>
}

const aJob = (n: number) => ({
  topic: 'mail_digest',
  payload: { userId: String(n), text: 'x'.repeat(60) },
})
const aBatch = () => Array.from({ length: BATCH }, (_, n) => aJob(n))
const authorization = `Bearer ${ADMIN_TOKEN}`

/** What a caller adds to each job. */
type Extra = () => object
const nothing: Extra = () => ({})
const requestId: Extra = () => ({ requestId: newJobId() })
const ownKey: Extra = () => ({ idempotencyKey: newJobId() })

const oneByOne = (name: string, oncue: Pick<Call, 'path' | 'body' | 'check'>): Step => ({
  name: `${name}, one by one`,
  jobsPerRequest: 1,
  calls: {
    oncue: { ...oncue, headers: { authorization } },
    bare: { path: '/jobs', headers: {}, body: (n) => JSON.stringify(aJob(n)), check: expecting('"id":') },
  },
})

const byTrpc = (name: string, extra: Extra): Step =>
  oneByOne(name, {
    path: '/trpc/jobs.enqueue',
    body: (n) => JSON.stringify({ json: { ...extra(), ...aJob(n) } }),
    check: expecting('"created":true'),
  })

const inBatches = (name: string, extra: Extra): Step => ({
  name: `${name}, batches of ${BATCH}`,
  jobsPerRequest: BATCH,
  calls: {
    oncue: {
      path: '/trpc/jobs.enqueueMany',
      headers: { authorization },
      body: () => JSON.stringify({ json: { jobs: aBatch().map((job) => ({ ...extra(), ...job })) } }),
      check: expecting(`"stored":${BATCH}`),
    },
    bare: {
      path: '/batch',
      headers: {},
      body: () => JSON.stringify({ jobs: aBatch() }),
      check: expecting('"ids":'),
    },
  },
})

const STEPS: readonly Step[] = [
  byTrpc('tRPC', nothing),
  byTrpc('client', requestId),
  byTrpc('own key', ownKey),
  oneByOne('REST', {
    path: '/api/jobs/enqueue',
    body: (n) => JSON.stringify(aJob(n)),
    check: expecting('"id":'),
  }),
  inBatches('tRPC', nothing),
  inBatches('client', requestId),
  inBatches('own key', ownKey),
]

function expecting(text: string): (answer: string) => void {
  return (answer) => {
    if (!answer.includes(text)) throw new Error(`an answer lacks ${text}: ${answer.slice(0, 500)}`)
  }
}

export const api: Benchmark = {
  summary: 'enqueue over HTTP beside a bare fastify route with the same insert',
  async run({ jobs = 3_000, rounds = 7, database }) {
    const results: { database: string; results: Result[] }[] = []
    if (database !== 'sqlite') {
      const { url, admin, close } = await openPostgres()
      const reset = async () => {
        await admin.query('truncate oncue.jobs, oncue.audit, oncue.keys')
        await admin.query('checkpoint')
      }
      results.push({
        database: 'Postgres',
        results: await compare('Postgres', url, reset, jobs, rounds).finally(close),
      })
    }
    if (database !== 'postgres') {
      const { url, drop } = await createSqliteDatabase()
      const admin = new Database(url.slice('file:'.length))
      const reset = async () => {
        admin.exec('delete from oncue_jobs; delete from oncue_audit; delete from oncue_keys')
      }
      const compared = compare('SQLite', url, reset, jobs, rounds).finally(async () => {
        admin.close()
        await drop()
      })
      results.push({ database: 'SQLite', results: await compared })
    }
    return {
      data: { goal: GOAL, connections: CONNECTIONS, jobs, rounds, results },
      text: results.map(({ database: title, results: rows }) => section(title, rows)).join('\n'),
    }
  },
}

/**
 * Both servers run all the time, in processes of their own, and are called in turn: other load on the machine
 * affects both. The order changes with the round; the first round warms up and is left out.
 */
async function compare(
  where: string,
  url: string,
  reset: () => Promise<void>,
  jobs: number,
  rounds: number,
): Promise<Result[]> {
  const oncue = await start(new URL('./oncue-server.ts', import.meta.url), url, ADMIN_TOKEN)
  const bare = await start(new URL('./bare-server.ts', import.meta.url), url)
  const servers = { oncue, bare }
  const loads = STEPS.map((step) => ({ step, rounds: [] as Record<Name, Played>[] }))
  try {
    for (let n = 0; n <= rounds; n++) {
      progress(`${where}: ${n === 0 ? 'warm-up' : `round ${n} of ${rounds}`}`)
      for (const { step, rounds: played } of loads) {
        const round: Partial<Record<Name, Played>> = {}
        for (const name of n % 2 === 0 ? NAMES : NAMES.toReversed()) {
          await reset()
          const requests = step.jobsPerRequest === 1 ? jobs : Math.ceil(jobs / 10)
          const before = await servers[name].cpu()
          const load = await send(servers[name].url, step.calls[name], requests, CONNECTIONS)
          round[name] = { ...load, cpu: (await servers[name].cpu()) - before }
        }
        if (n > 0) played.push(round as Record<Name, Played>)
      }
    }
  } finally {
    await Promise.all([oncue, bare].map(({ stop }) => stop()))
  }
  return loads.map(({ step, rounds: played }) => resultOf(step, played))
}

interface Server {
  readonly url: string
  /** CPU time of its process so far, in microseconds. */
  cpu(): Promise<number>
  stop(): Promise<void>
}

async function start(file: URL, ...args: string[]): Promise<Server> {
  const child: ChildProcess = fork(file, args, { execArgv: [] })
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  return {
    url,
    async cpu() {
      child.send('cpu')
      const [{ cpu }] = (await once(child, 'message')) as [{ cpu: number }]
      return cpu
    },
    async stop() {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

function resultOf({ name, jobsPerRequest }: Step, rounds: readonly Record<Name, Played>[]): Result {
  const speed = ({ latencies, ms }: Load) => (latencies.length / ms) * 1_000
  const each = (value: (load: Played) => number): Record<Name, number> => ({
    oncue: median(rounds.map(({ oncue }) => value(oncue))),
    bare: median(rounds.map(({ bare }) => value(bare))),
  })
  const ratios = rounds.map(({ oncue, bare }) => speed(oncue) / speed(bare))
  return {
    step: name,
    ratios,
    ratio: median(ratios),
    requestsPerSecond: each(speed),
    jobsPerSecond: each((load) => speed(load) * jobsPerRequest),
    p50: each(({ latencies }) => quantile(latencies, 0.5)),
    p99: each(({ latencies }) => quantile(latencies, 0.99)),
    cpu: each(({ latencies, cpu }) => cpu / latencies.length),
  }
}

function section(title: string, results: readonly Result[]): string {
  const head = [
    title,
    'of bare',
    'middle half',
    `${percent(GOAL)}?`,
    'requests/s',
    'bare',
    'jobs/s',
    'p50 ms',
    'bare',
    'p99 ms',
    'bare',
    'CPU µs',
    'bare',
  ]
  const rows = results.map(({ step, ratio, ratios, requestsPerSecond, jobsPerSecond, p50, p99, cpu }) => [
    step,
    percent(ratio),
    `${percent(quantile(ratios, 0.25))} – ${percent(quantile(ratios, 0.75))}`,
    ratio >= GOAL ? 'yes' : 'NO',
    count(requestsPerSecond.oncue),
    count(requestsPerSecond.bare),
    count(jobsPerSecond.oncue),
    p50.oncue.toFixed(1),
    p50.bare.toFixed(1),
    p99.oncue.toFixed(1),
    p99.bare.toFixed(1),
    count(cpu.oncue),
    count(cpu.bare),
  ])
  return table(head, rows)
}
