import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Runtime } from '@oncue/runtime'
import { assertMigrated, migrate } from './migrate/migrate.ts'
import type { Store } from './store.ts'
import { dialectOf, sqliteFile } from './url.ts'

/** How a store is opened, beside its URL. */
export type OpenOptions = {
  /** Which of several installations in one database: a schema on Postgres, a prefix on SQLite. Default: oncue. */
  readonly schema?: string | undefined
  /** Applies pending migrations first. Default: false, and a database that needs them is refused. */
  readonly migrate?: boolean | undefined
  /** Called when a newer version of Oncue has migrated the database, with which this one can still work. */
  readonly onNewer?: ((migrations: readonly string[]) => void) | undefined
  /** Postgres: how many connections, beside one for presence. Default: 10. */
  readonly poolSize?: number | undefined
  /** SQLite: `FULL` survives a power cut, `NORMAL` is faster and may lose the last commits. Default: FULL. */
  readonly synchronous?: 'FULL' | 'NORMAL' | undefined
  /**
   * When aborted, stops waiting for the database at once; the store can then only be closed. For a process that is
   * asked to stop while it starts.
   */
  readonly signal?: AbortSignal | undefined
  /** For tests: replaces the store's clock. */
  readonly clock?: (() => Date) | undefined
  /** For tests: replaces the host's clock and chance. On SQLite that is the store's clock, too. */
  readonly runtime?: Runtime | undefined
}

/**
 * Opens the store behind `postgres://…`, `file:./path.db` or `:memory:` (a temporary file, deleted
 * on close). Drivers are imported only when they are needed.
 */
export async function openStore(url: string, options: OpenOptions = {}): Promise<Store> {
  try {
    return await open(url, options)
  } catch (error) {
    options.signal?.throwIfAborted()
    throw error
  }
}

async function open(url: string, options: OpenOptions): Promise<Store> {
  const { migrate: shouldMigrate, onNewer, ...rest } = options
  if (url === ':memory:') return openTemporary(rest)
  const { schema, runtime, signal } = rest
  if (shouldMigrate) await migrate(url, { schema, runtime, signal })
  const newer = await assertMigrated(url, { schema, runtime, signal })
  if (newer.length > 0) onNewer?.(newer)
  return dialectOf(url) === 'postgres' ? openPostgres(url, rest) : openSqlite(url, rest)
}

async function openPostgres(url: string, options: OpenOptions): Promise<Store> {
  const { PostgresStore } = await import('./postgres/store.ts')
  return PostgresStore.open({ url, ...options })
}

async function openSqlite(url: string, options: OpenOptions, onClose?: () => void): Promise<Store> {
  const [{ loadDriver }, { SqliteStore }] = await Promise.all([
    import('./sqlite/driver.ts'),
    import('./sqlite/store.ts'),
  ])
  return SqliteStore.open({ driver: await loadDriver(), file: sqliteFile(url), ...options, onClose })
}

/** One listener for all stores: with one each, Node would soon warn of a leak. */
const temporaryFolders = new Set<string>()
process.once('exit', () => {
  for (const folder of temporaryFolders) rmSync(folder, { recursive: true, force: true })
})

async function openTemporary(options: OpenOptions): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'oncue-'))
  temporaryFolders.add(folder)
  const url = `file:${join(folder, 'oncue.db')}`
  await migrate(url, { schema: options.schema, runtime: options.runtime })
  return openSqlite(url, options, () => {
    temporaryFolders.delete(folder)
    rmSync(folder, { recursive: true, force: true })
  })
}
