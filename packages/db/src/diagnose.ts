import { existsSync } from 'node:fs'
import { isOncueError, OncueError } from '@oncue/core'
import { type Runtime, systemRuntime, timeoutSignal } from '@oncue/runtime'
import { type MigrationStatus, migrationStatus, namesOf } from './migrate/migrate.ts'
import { type Finding, fail, ok, type Seen, warn } from './portable/finding.ts'
import { DEFAULT_SCHEMA, migrationHint, toSchema } from './schema.ts'
import { dialectOf, sqliteFile, withoutPassword } from './url.ts'

/** How long a statement of a check may take, and the reading of the migrations: a network may lose the reply. */
const TIMEOUT_MS = 10_000

export type DiagnoseOptions = {
  /** Which of several installations in the database. Default: oncue. */
  readonly schema?: string | undefined
  /** For tests: replaces the host's clock and chance. */
  readonly runtime?: Runtime | undefined
}

/**
 * Examines a database for reasons why the queue is slow or does not run at all.
 * Changes nothing, and never throws: a database that cannot be reached is a finding.
 */
export async function diagnose(
  url: string,
  options: DiagnoseOptions = {},
  timeoutMs = TIMEOUT_MS,
): Promise<Finding[]> {
  const { runtime = systemRuntime } = options
  const started = runtime.monotonic()
  let status: MigrationStatus
  try {
    refuseMissing(url)
    status = await migrationStatus(url, { schema: options.schema, runtime, signal: timeoutSignal(timeoutMs) })
  } catch (cause) {
    const error = isOncueError(cause) ? cause : new OncueError('INTERNAL', String(cause), { cause })
    return [{ check: 'database', ...fail(error.message, error.hint) }]
  }
  const ms = Math.round(runtime.monotonic() - started)
  const schema = toSchema(options.schema)
  const migrations = migrationsOf(status, schema)
  const isMigrated = migrations.status !== 'fail'
  const checks =
    dialectOf(url) === 'postgres'
      ? import('./postgres/diagnose.ts').then(({ diagnosePostgres }) =>
          diagnosePostgres(url, isMigrated, schema, runtime, timeoutMs),
        )
      : import('./sqlite/diagnose.ts').then(({ diagnoseSqlite }) =>
          diagnoseSqlite(sqliteFile(url), isMigrated, schema, runtime),
        )
  return [
    { check: 'database', ...ok(`${withoutPassword(url)} responds (${ms} ms)`) },
    { check: 'migrations', ...migrations },
    ...(await checks),
  ]
}

function refuseMissing(url: string): void {
  if (url === ':memory:') {
    throw new OncueError('INVALID_DATABASE_URL', 'A :memory: database is visible only to its own process')
  }
  const file = dialectOf(url) === 'sqlite' ? sqliteFile(url) : undefined
  if (file === undefined || existsSync(file)) return
  throw new OncueError('DATABASE_UNAVAILABLE', `There is no file ${file}`, {
    hint: 'Check the path. `npx oncue migrate` creates a new file.',
  })
}

function migrationsOf(status: MigrationStatus, schema: string): Seen {
  const [pending, changed] = [namesOf(status, 'pending'), namesOf(status, 'changed')]
  const [breaking, newer] = [namesOf(status, 'breaking'), namesOf(status, 'newer')]
  if (breaking.length > 0) {
    const advice = 'A newer version of Oncue has migrated the database: upgrade this process.'
    return fail(`unknown: ${breaking.join(', ')}`, advice)
  }
  if (pending.length > 0) {
    const advice =
      schema === DEFAULT_SCHEMA ? 'Run `npx oncue migrate` against this database.' : migrationHint(schema)
    return fail(`pending: ${pending.join(', ')}`, advice)
  }
  if (changed.length > 0) {
    const advice = 'Restore the original file: an applied migration must never change.'
    return fail(`changed after they were applied: ${changed.join(', ')}`, advice)
  }
  if (newer.length > 0) {
    const advice =
      'A newer version of Oncue has migrated the database. This one works with it: finish the upgrade.'
    return warn(`newer than this version: ${newer.join(', ')}`, advice)
  }
  return ok(`all ${status.migrations.length} are applied`)
}
