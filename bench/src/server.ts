import { createPostgresDatabase, startPostgres } from '@oncue/db/testing'
import pg from 'pg'
import { givenPostgres } from './config.ts'

/** A database that is deleted after the benchmark, and one connection to prepare and query it. */
export interface BenchDatabase {
  readonly url: string
  readonly admin: pg.Client
  readonly version: string
  /** Those that we set; null on a server of which we know none. */
  readonly settings: Readonly<Record<string, string>> | null
  close(): Promise<void>
}

/** On the server of DATABASE_URL, or on one of our own with the default durability of Postgres. */
export async function openPostgres(): Promise<BenchDatabase> {
  const given = givenPostgres()
  return given ? onServer(given, null, async () => {}) : ownPostgres({})
}

/**
 * Always our own, and only the benchmark writes to it: no autovacuum, and no full page images,
 * which depend on when the last checkpoint was.
 */
export function openQuietPostgres(): Promise<BenchDatabase> {
  return ownPostgres({ autovacuum: 'off', full_page_writes: 'off', checkpoint_timeout: '1h', fsync: 'off' })
}

/** Always our own: it counts the pages of each statement, and is vacuumed only by the benchmark. */
export function openCountingPostgres(): Promise<BenchDatabase> {
  return ownPostgres({ shared_preload_libraries: 'pg_stat_statements', autovacuum: 'off' })
}

/** Always our own, on the loopback interface, with the defaults of Postgres. */
export function openOwnPostgres(): Promise<BenchDatabase> {
  return ownPostgres({})
}

async function ownPostgres(settings: Record<string, string>): Promise<BenchDatabase> {
  const server = await startPostgres({ settings })
  return onServer(server.url, settings, () => server.stop())
}

async function onServer(
  serverUrl: string,
  settings: BenchDatabase['settings'],
  stop: () => Promise<void>,
): Promise<BenchDatabase> {
  const database = await createPostgresDatabase(serverUrl)
  const admin = new pg.Client(database.url)
  await admin.connect()
  const { rows } = await admin.query(`select current_setting('server_version') as version`)
  return {
    url: database.url,
    admin,
    version: rows[0]?.version,
    settings,
    async close() {
      await admin.end()
      await database.drop()
      await stop()
    },
  }
}
