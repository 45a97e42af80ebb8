import { newJobId } from '@oncue/core'
import Database from 'better-sqlite3'
import fastify from 'fastify'
import pg from 'pg'
import { reportCpu } from './cpu.ts'

/*
 * What a team would write that needs only this: a route whose body fastify checks with a schema, and
 * the same row in the same table. No tokens, no audit, no limits, no wake-ups.
 */
const JOB = {
  type: 'object',
  required: ['topic'],
  additionalProperties: false,
  properties: {
    topic: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9_./:-]+$' },
    payload: {},
  },
}

interface Body {
  readonly topic: string
  readonly payload?: unknown
}

type Insert = (jobs: readonly { id: string; topic: string; payload: string }[]) => Promise<void>

const COLUMNS =
  'id, topic, payload, queue, status, priority, max_retries, timeout_ms, run_at, visible_at, created, updated'

function openPostgres(url: string): Insert {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  const rest = `'default', 'pending', 0, 3, 600000, now(), now(), now(), now()`
  return async (jobs) => {
    const [first] = jobs
    if (jobs.length === 1 && first) {
      const text = `insert into oncue.jobs (${COLUMNS}) values ($1, $2, $3, ${rest})`
      await pool.query({ name: 'one', text, values: [first.id, first.topic, first.payload] })
      return
    }
    const text = `insert into oncue.jobs (${COLUMNS})
      select j.id, j.topic, j.payload, ${rest} from unnest($1::uuid[], $2::text[], $3::json[]) as j(id, topic, payload)`
    const values = [
      jobs.map(({ id }) => id),
      jobs.map(({ topic }) => topic),
      jobs.map(({ payload }) => payload),
    ]
    await pool.query({ name: 'many', text, values })
  }
}

function openSqlite(file: string): Insert {
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  const insert = db.prepare(
    `insert into oncue_jobs (${COLUMNS}) values (?, ?, ?, 'default', 'pending', 0, 3, 600000, ?, ?, ?, ?)`,
  )
  const insertAll = db.transaction((jobs: Parameters<Insert>[0]) => {
    const now = Date.now()
    for (const { id, topic, payload } of jobs) insert.run(id, topic, payload, now, now, now, now)
  })
  return async (jobs) => insertAll.immediate(jobs)
}

async function serve(databaseUrl: string): Promise<void> {
  const insert = databaseUrl.startsWith('file:')
    ? openSqlite(databaseUrl.slice('file:'.length))
    : openPostgres(databaseUrl)
  const toRow = ({ topic, payload = null }: Body) => ({
    id: newJobId(),
    topic,
    payload: JSON.stringify(payload),
  })

  const app = fastify({ bodyLimit: 10_485_760 })
  app.post<{ Body: Body }>('/jobs', { schema: { body: JOB } }, async ({ body }) => {
    const row = toRow(body)
    await insert([row])
    return { id: row.id }
  })
  const jobs = { type: 'array', minItems: 1, maxItems: 1_000, items: JOB }
  const batch = { type: 'object', required: ['jobs'], properties: { jobs } }
  app.post<{ Body: { jobs: Body[] } }>('/batch', { schema: { body: batch } }, async ({ body }) => {
    const rows = body.jobs.map(toRow)
    await insert(rows)
    return { ids: rows.map(({ id }) => id) }
  })
  process.send?.({ url: await app.listen({ host: '127.0.0.1', port: 0 }) })
}

reportCpu()
process.on('disconnect', () => process.exit())
await serve(process.argv[2] ?? '')
