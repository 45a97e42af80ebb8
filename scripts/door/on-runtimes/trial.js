// One trial of a runtime, on a database: `trial.js <trial> <database url>`. Prints what became of it.
import { createRequire } from 'node:module'
import { createQueue, migrate, openStore, prepareJob, silentLogger, startWorker } from 'oncue'
import { createClient } from 'oncue/client'
import { jobs, workers } from './jobs.js'
import { workers as limited } from './limited.js'

const [trial, databaseUrl, ...rest] = process.argv.slice(2)
const require = createRequire(import.meta.url)
const say = (text) => void process.stdout.write(`${text}\n`)
const modules = [new URL('./jobs.js', import.meta.url).href]
const SETTINGS = { workers, modules, leaseMs: 2_000, abandonMs: 500, graceMs: 0, log: silentLogger }

/** A worker that polls once in a minute: whatever it does earlier it was told of. */
const start = (store) => startWorker({ ...SETTINGS, store, pollMs: 60_000 })

/** Waits for the end of a job, whatever it is. */
async function ended(store, id) {
  for (;;) {
    const job = await store.get(id)
    if (['completed', 'failed', 'cancelled'].includes(job?.status)) return job
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The connection of a service of its own, beside Oncue's. */
async function openService() {
  if (databaseUrl.startsWith('postgres')) {
    const { Pool } = require('pg')
    const pool = new Pool({ connectionString: databaseUrl, max: 1 })
    const rolledBack = async (work) => {
      const tx = await pool.connect()
      await tx.query('begin')
      await work(tx)
      await tx.query('rollback')
      tx.release()
    }
    return { name: 'pg', host: { pool }, rolledBack, close: () => pool.end() }
  }
  // The SQLite of Oncue in this process: another copy would break its locks.
  const file = databaseUrl.slice('file:'.length)
  const { getEnvironmentData } = await import('node:worker_threads')
  const used = getEnvironmentData('oncue.sqlite')
  const isNode = used === 'node:sqlite'
  const Database = isNode ? (await import('node:sqlite')).DatabaseSync : require('better-sqlite3')
  const database = new Database(file, { timeout: 5_000 })
  const rolledBack = async (work) => {
    database.exec('BEGIN IMMEDIATE')
    await work(database)
    database.exec('ROLLBACK')
  }
  return {
    name: isNode ? used : 'better-sqlite3',
    host: { database },
    rolledBack,
    close: async () => database.close(),
  }
}

const TRIALS = {
  /** Without a worker. */
  async queue() {
    await migrate(databaseUrl)
    const store = await openStore(databaseUrl)
    const service = await openService()
    const queue = createQueue({ ...service.host, jobs })
    const id = await queue.enqueue('greet', { name: 'queue' })
    let lost
    await service.rolledBack(async (tx) => {
      lost = await queue.enqueue('greet', { name: 'nobody' }, { tx })
    })
    const found = await Promise.all([store.get(id), store.get(lost)])
    await service.close()
    await store.cancel([id])
    await store.close()
    return `${service.name}: ${found.map((job) => job?.status ?? 'not there').join(', ')}`
  },

  /** A worker that is told of jobs by another connection, and by another process (`rest`). */
  async work() {
    await migrate(databaseUrl)
    const store = await openStore(databaseUrl)
    const worker = await start(store)
    const service = await openService()
    const queue = createQueue({ ...service.host, jobs })
    await worker.drain()
    const many = Array.from({ length: 300 }, (_, i) => ({ topic: 'greet', payload: { name: `no. ${i}` } }))
    const all = await queue.enqueueMany(many)
    const ids = [await queue.enqueue('greet', { name: 'worker' }), await queue.enqueue('heavy', {})]
    const [greeted, heavy] = await Promise.all(ids.map((id) => ended(store, id)))
    const done = await Promise.all(all.map((id) => ended(store, id)))
    const once = done.filter(({ status, run }) => status === 'completed' && run === 1)
    await worker.stop()
    await service.close()
    await store.close()
    const isApart = heavy.result?.pid !== undefined && heavy.result.pid !== process.pid
    return `${once.length} of ${many.length}, each once; ${greeted.result?.greeting}; isolated: ${isApart ? 'yes' : JSON.stringify(heavy.error)}`
  },

  /** Runs a job for ever, until it is killed. */
  async hold() {
    const store = await openStore(databaseUrl)
    await start(store)
    const [topic] = rest
    await createQueue({ store, jobs }).enqueue(topic, {})
    await new Promise(() => {})
  },

  /** Takes over what a killed worker ran. */
  async takeOver() {
    const store = await openStore(databaseUrl)
    const worker = await start(store)
    const job = await ended(store, rest[0])
    await worker.stop()
    await store.close()
    return `${job.status} by run ${job.result?.run ?? job.run}`
  },

  /** A worker whose isolated handler takes more memory than it may. */
  async limit() {
    const store = await openStore(databaseUrl)
    const worker = await startWorker({
      ...SETTINGS,
      store,
      workers: limited,
      modules: [new URL('./limited.js', import.meta.url).href],
    })
    const [id] = await store.enqueue([prepareJob('hungry', {}, { retry: { max: 0 } })])
    const job = await ended(store, id)
    await worker.stop()
    await store.close()
    return `${job.status} ${job.lastError?.code}`
  },

  /** Only looks. */
  async look() {
    const store = await openStore(databaseUrl)
    const job = await ended(store, rest[0])
    await store.close()
    return `${job.status} ${job.lastError?.code}`
  },

  /** `databaseUrl` is the url of an API. */
  async client() {
    const [token] = rest
    const oncue = createClient({ url: databaseUrl, token, jobs })
    const id = await oncue.jobs.enqueue('greet', { name: 'client' })
    const { greeting } = await oncue.jobs.wait(id, { timeoutMs: 30_000 })
    const states = []
    for await (const message of oncue.jobs.watch(id))
      if (message.type === 'state') states.push(message.state.status)
    return `${greeting}; ${states.at(-1)}`
  },
}

TRIALS[trial]().then(
  (result) => {
    say(result)
    process.exitCode = 0
  },
  (error) => {
    say(`${error?.code}: ${error?.message}`)
    process.exitCode = 1
  },
)
