import { DEFAULTS, newJobId } from '@oncue/core'
import Database from 'better-sqlite3'
import pg from 'pg'
import { createBareTables, openBarePostgres } from '../../store/bare-postgres.ts'
import { openBareSqlite } from '../../store/bare-sqlite.ts'
import type { BareContender } from '../../store/contender.ts'
import type { Contender, DatabaseName } from '../contender.ts'
import { CONCURRENCY, type Payload, payloadOf } from '../shapes.ts'

const CLAIM = 500
/** While one waits for the database, the jobs of the other run. SQLite has one writer. */
const CONNECTIONS: Record<DatabaseName, number> = { postgres: 2, sqlite: 1 }

const shared = { queue: DEFAULTS.queue, topic: 'bench', priority: 0, maxRetries: 3, timeoutMs: 600_000 }

function open(database: DatabaseName, url: string): Promise<BareContender> | BareContender {
  return database === 'postgres' ? openBarePostgres(url) : openBareSqlite(url.slice('file:'.length))
}

/** Not a queue: the statements of `bench store`, in a loop. */
function bare(database: DatabaseName): Contender {
  return {
    name: 'bare SQL',
    database,
    version: '',
    settings: `claims of ${CLAIM} (${CONCURRENCY} for 10 ms), ${database === 'postgres' ? 'two connections' : 'one connection'} a process`,
    keeps: 'every finished job, in a table beside',
    shapes: ['no-op', '10ms'],
    async produce(url) {
      const tables = database === 'postgres' ? await postgresTables(url) : sqliteTables(url)
      const contender = await open(database, url)
      return {
        enqueue: (numbers) =>
          contender.enqueue(
            numbers.map((n) => ({ ...shared, id: newJobId(), payload: JSON.stringify(payloadOf(n)) })),
          ),
        isDrained: tables.isDrained,
        async close() {
          await contender.close()
          await tables.close()
        },
      }
    },
    async work(url, { shape, handle }) {
      const limit = shape === '10ms' ? CONCURRENCY / CONNECTIONS[database] : CLAIM
      const contenders = await Promise.all(
        Array.from({ length: CONNECTIONS[database] }, () => open(database, url)),
      )
      let loops: Promise<unknown> = Promise.resolve()
      return {
        start() {
          loops = Promise.all(contenders.map((contender) => drain(contender, limit, handle)))
        },
        async stop() {
          await loops
          for (const contender of contenders) await contender.close()
        },
      }
    },
  }
}

async function drain(
  contender: BareContender,
  limit: number,
  handle: (n: number, attempt: number) => unknown,
) {
  let runs = await contender.claim(limit)
  while (runs.length > 0) {
    await Promise.all(runs.map(async ({ payload }) => handle((payload as Payload).n, 1)))
    runs = await contender.settleAndClaim(runs, limit)
  }
}

async function postgresTables(url: string) {
  const client = new pg.Client(url)
  await client.connect()
  await createBareTables(client)
  return {
    isDrained: async () => (await client.query('select from bench.jobs limit 1')).rowCount === 0,
    close: () => client.end(),
  }
}

function sqliteTables(url: string) {
  const db = new Database(url.slice('file:'.length))
  return {
    isDrained: async () => db.prepare('SELECT 1 FROM bench_jobs LIMIT 1').get() === undefined,
    close: async () => {
      db.close()
    },
  }
}

export const barePostgres = bare('postgres')
export const bareSqlite = bare('sqlite')
