import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { prepareJob } from '@oncue/core'
import { openStore, type Store } from '@oncue/db'
import pg from 'pg'
import { count, progress } from '../report.ts'
import { type BenchDatabase, openOwnPostgres } from '../server.ts'
import { epochMs } from '../wakeups/producer.ts'
import type { Run, Sample, Sizes } from './verdict.ts'
import { type Answer, type Payload, type Question, TOPIC } from './worker.ts'

export interface Load {
  readonly minutes: number
  /** Jobs per second. */
  readonly rate: number
}

/** How often the producer enqueues what is due. */
const TICK_MS = 5
/** So many enqueues may be under way; a database that takes longer gets fewer jobs, which the throughput then shows. */
const MOST_OPEN = 200
const SAMPLES = 120
/** The jobs that are left at the end have to be done by then. */
const DRAIN_MS = 60_000
/** A worker that does not stop by then is killed. */
const STOP_MS = 30_000

/** One run on a server of its own: a steady producer here, a worker process, and samples at even distances. */
export async function soak(name: string, holdsXmin: boolean, load: Load): Promise<Run> {
  const database = await openOwnPostgres()
  const store = await openStore(database.url)
  const worker = fork(new URL('./worker.ts', import.meta.url), [database.url], { execArgv: [] })
  const holder = new pg.Client(database.url)
  const ending = new AbortController()
  try {
    await once(worker, 'message')
    await holder.connect()
    if (holdsXmin) await holdSnapshot(holder)
    const producing = produce(store, load.rate, ending.signal)
    const observing = observe(name, database, worker, load, ending.signal)
    // A producer that fails ends the run at once.
    const samples = await Promise.race([observing, producing.then(() => observing)])
    ending.abort()
    const enqueued = await producing
    const settled = await drained(database, enqueued)
    const { version, settings } = database
    return { name, postgres: { version, settings }, samples, enqueued, settled }
  } finally {
    ending.abort()
    await stop(worker)
    await holder.end()
    await store.close()
    await database.close()
  }
}

/** The oldest snapshot of the server from now on: no vacuum removes a row that was deleted since. */
async function holdSnapshot(holder: pg.Client): Promise<void> {
  await holder.query('begin isolation level repeatable read')
  await holder.query('select count(*) from oncue.jobs')
  const { rows } = await holder.query(
    'select backend_xmin is not null as is_held from pg_stat_activity where pid = pg_backend_pid()',
  )
  if (!rows[0]?.is_held) throw new Error('The transaction holds no xmin')
}

/** Enqueues one job per call, as services do. What could not be sent in time is sent later: the rate holds on average. */
async function produce(store: Store, rate: number, signal: AbortSignal): Promise<number> {
  const start = performance.now()
  const open = new Set<Promise<unknown>>()
  const errors: unknown[] = []
  let sent = 0
  while (!signal.aborted && errors.length === 0) {
    const due = Math.floor(((performance.now() - start) / 1_000) * rate)
    for (; sent < due && open.size < MOST_OPEN; sent++) {
      const job = prepareJob(TOPIC, { at: epochMs() } satisfies Payload)
      const call: Promise<unknown> = store
        .enqueue([job])
        .catch((error: unknown) => errors.push(error))
        .finally(() => open.delete(call))
      open.add(call)
    }
    await delay(TICK_MS)
  }
  await Promise.all(open)
  if (errors.length > 0) throw errors[0]
  return sent
}

/** The first tenth, ten seconds at most, warms up and is left out. */
async function observe(
  name: string,
  { admin }: BenchDatabase,
  worker: ChildProcess,
  { minutes, rate }: Load,
  signal: AbortSignal,
): Promise<Sample[]> {
  const totalMs = minutes * 60_000
  const everyMs = Math.max(1_000, totalMs / SAMPLES)
  progress(`soak: ${name}, warm-up`)
  await delay(Math.min(10_000, totalMs / 10), undefined, { signal })
  await take(worker)
  const samples: Sample[] = []
  const start = performance.now()
  let before = start
  for (let at = everyMs; at <= totalMs + 1; at += everyMs) {
    await delay(Math.max(0, start + at - performance.now()), undefined, { signal })
    const pickUps = await take(worker)
    const now = performance.now()
    const seconds = (now - before) / 1_000
    before = now
    samples.push({ atMs: now - start, seconds, pickUps, ...(await sizesOf(admin)) })
    progress(
      `soak: ${name}, ${((now - start) / 60_000).toFixed(1)} of ${minutes} min, ${count(pickUps.length / seconds)} of ${count(rate)} jobs/s`,
    )
  }
  return samples
}

async function take(worker: ChildProcess): Promise<number[]> {
  const listening = new AbortController()
  const { signal } = listening
  const ended = async () => {
    await once(worker, 'exit', { signal })
    throw new Error('The worker process ended')
  }
  try {
    const answer = once(worker, 'message', { signal })
    worker.send('take' satisfies Question)
    const [message] = (await Promise.race([answer, ended()])) as [Answer]
    if (message === 'ready') throw new Error('The worker process started twice')
    return message.pickUps
  } finally {
    listening.abort()
  }
}

async function sizesOf(admin: pg.Client): Promise<Sizes> {
  const { rows } = await admin.query<Sizes>(
    `select pg_table_size('oncue.jobs')::float8 as "jobsTable", pg_indexes_size('oncue.jobs')::float8 as "jobsIndexes",
       pg_table_size('oncue.history')::float8 as "historyTable",
       pg_indexes_size('oncue.history')::float8 as "historyIndexes",
       (select n_dead_tup::float8 from pg_stat_user_tables where relid = 'oncue.jobs'::regclass) as "deadRows"`,
  )
  const [sizes] = rows
  if (!sizes) throw new Error('Postgres reported no sizes')
  return sizes
}

/** How many jobs are in history once no job is left, or when the time is over. */
async function drained({ admin }: BenchDatabase, enqueued: number): Promise<number> {
  const deadline = performance.now() + DRAIN_MS
  for (;;) {
    const { rows } = await admin.query(
      `select count(*)::float8 as n from oncue.history where status = 'completed'`,
    )
    const settled = Number(rows[0]?.n)
    if (settled >= enqueued || performance.now() > deadline) return settled
    await delay(500)
  }
}

async function stop(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  const ended = once(worker, 'exit')
  worker.send('stop' satisfies Question)
  const late = setTimeout(() => worker.kill('SIGKILL'), STOP_MS)
  await ended
  clearTimeout(late)
}
