import {
  createEmptyPostgresDatabase,
  createEmptySqliteDatabase,
  startPostgres,
  type TestDatabase,
} from '@oncue/db/testing'
import pg from 'pg'
import { serverCpuMs } from './server-cpu.ts'

/** Where databases are made, and what can be seen of them from outside. */
export interface Host {
  /** Of the server. */
  readonly version?: string
  create(): Promise<TestDatabase>
  /** The same state for every contender: pages are on disk, statistics are there. */
  settle(url: string): Promise<void>
  cpuMs(): Promise<number | null>
  walBytes(): Promise<number | null>
  close(): Promise<void>
}

/** Durability stays as it is by default. */
export const SERVER_SETTINGS = { shared_buffers: '512MB', max_wal_size: '4GB', max_connections: '400' }
/** For bytes of WAL: no full page images, whose number depends on the last checkpoint, and no autovacuum. */
const WAL_SETTINGS = { autovacuum: 'off', full_page_writes: 'off', checkpoint_timeout: '1h' }

/** Always a server of our own: the CPU of its processes is read on this machine. */
export async function postgresHost({ wal = false } = {}): Promise<Host> {
  const server = await startPostgres({ settings: { ...SERVER_SETTINGS, ...(wal ? WAL_SETTINGS : {}) } })
  const admin = new pg.Client(server.url)
  await admin.connect()
  const { rows } = await admin.query(`select current_setting('server_version') as version`)
  return {
    version: rows[0]?.version,
    create: () => createEmptyPostgresDatabase(server.url),
    async settle(url) {
      const client = new pg.Client(url)
      await client.connect()
      await client.query('analyze')
      await client.query('checkpoint')
      await client.end()
    },
    cpuMs: () => serverCpuMs(server.pid),
    async walBytes() {
      const { rows } = await admin.query(
        `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as at`,
      )
      return Number(rows[0]?.at)
    },
    async close() {
      await admin.end()
      await server.stop()
    },
  }
}

export function sqliteHost(): Host {
  return {
    create: createEmptySqliteDatabase,
    settle: async () => {},
    // The workers' own: SQLite runs in their processes.
    cpuMs: async () => null,
    walBytes: async () => null,
    close: async () => {},
  }
}
