import { existsSync } from 'node:fs'
import { isOncueError, OncueError } from '@oncue/core'
import { type Runtime, systemRuntime, timeoutSignal } from '@oncue/runtime'
import { type MigrationStatus, migrationStatus } from './migrate/migrate.ts'
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
  const { schema, runtime = systemRuntime } = options
  const started = runtime.monotonic()
  let status: MigrationStatus
  try {
    refuseMissing(url)
    status = await migrationStatus(url, { schema, runtime, signal: timeoutSignal(timeoutMs) })
  } catch (cause) {
    const error = isOncueError(cause) ? cause : new OncueError('INTERNAL', String(cause), { cause })
    return [{ check: 'database', ...fail(error.message, error.hint) }]
  }
  const ms = Math.round(runtime.monotonic() - started)
  const migrations = migrationsOf(status, toSchema(schema))
  const isMigrated = migrations.status !== 'fail'
  return [
    { check: 'database', ...ok(`${withoutPassword(url)} responds (${ms} ms)`) },
    { check: 'migrations', ...migrations },
    ...(await look(url, isMigrated, toSchema(schema), runtime, timeoutMs)),
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

function migrationsOf({ migrations, functions }: MigrationStatus, schema: string): Seen {
  const named = (state: string) => migrations.flatMap((one) => (one.state === state ? [one.name] : []))
  const [pending, changed] = [named('pending'), named('changed')]
  const [breaking, newer] = [named('breaking'), named('newer')]
  if (breaking.length > 0) {
    const advice = 'A newer version of Oncue has migrated the database: upgrade this process.'
    return fail(`unknown: ${breaking.join(', ')}`, advice)
  }
  const missing = functions.flatMap(({ hash, state }) => (state === 'missing' ? [`functions_${hash}`] : []))
  pending.push(...missing)
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
  return ok(`all ${migrations.length} are applied`)
}

async function look(
  url: string,
  isMigrated: boolean,
  schema: string,
  runtime: Runtime,
  timeoutMs: number,
): Promise<Finding[]> {
  if (dialectOf(url) === 'postgres') {
    const { diagnosePostgres } = await import('./postgres/diagnose.ts')
    return diagnosePostgres(url, isMigrated, schema, runtime, timeoutMs)
  }
  const { diagnoseSqlite } = await import('./sqlite/diagnose.ts')
  return diagnoseSqlite(sqliteFile(url), isMigrated, schema, runtime)
}
