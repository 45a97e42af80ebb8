import { existsSync } from 'node:fs'
import { ERRORS, OncueError } from '@oncue/core'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import { DEFAULT_SCHEMA, migrationHint, type Rename, toSchema } from '../schema.ts'
import { type DialectName, dialectOf, sqliteFile } from '../url.ts'
import { type Migration, readMigrations, type Statement, splitStatements, toMigration } from './files.ts'
import { type FunctionSet, installable, readFunctions } from './functions.ts'
import type { AppliedMigration, Ledger, MigrationDatabase } from './ledger.ts'
import { ownMigrations, RELEASE } from './sources.ts'

interface MigrateOptions {
  /** Which of several installations in one database: a schema on Postgres, a prefix on SQLite. Default: oncue. */
  readonly schema?: string | undefined
  /** Postgres: milliseconds to wait while another process migrates the database. Default: 600,000, ten minutes. */
  readonly lockTimeoutMs?: number | undefined
  /** When aborted, stops waiting at once; the migration in progress is rolled back. */
  readonly signal?: AbortSignal | undefined
  /** For tests: other migrations than ours. */
  readonly folder?: string | undefined
  /** For tests: other functions than ours. With other migrations, none by default. */
  readonly functions?: FunctionSet | undefined
  /** For tests: replaces the host's clock and chance. */
  readonly runtime?: Runtime | undefined
}

interface RollbackOptions extends MigrateOptions {
  /** Also while workers run: all their calls fail from then on. */
  readonly force?: boolean | undefined
}

export interface RollbackPreview {
  /** The migration that would be rolled back. */
  readonly name: string
  /** Every table that it would drop, with its rows, and every column (`table.column`), with its values. */
  readonly lost: readonly { readonly table: string; readonly rows: number }[]
  readonly liveWorkers: number
}

interface MigrationStep {
  readonly name: string
  readonly ms: number
}

type MigrationState =
  | 'applied'
  | 'pending'
  /** Applied, but its file has changed since. */
  | 'changed'
  /** Applied by a newer version of Oncue, and compatible with this one. */
  | 'newer'
  /** Applied by a newer version of Oncue, and not compatible with this one. */
  | 'breaking'

export interface MigrationStatus {
  readonly dialect: DialectName
  readonly migrations: readonly { name: string; state: MigrationState; appliedAt: Date | null }[]
  /** Postgres: the sets of functions that are installed, and the one that this build calls. */
  readonly functions: readonly FunctionStatus[]
}

interface FunctionStatus {
  readonly hash: string
  /**
   * `current`: this build calls it. `missing`: this build calls it, but it is not installed. `other`: another
   * build's.
   */
  readonly state: 'current' | 'missing' | 'other'
  readonly release: string | null
  /** When a worker or an API last used it, to about an hour. Null: missing, or hidden from this role. */
  readonly lastSeen: Date | null
}

/**
 * Applies pending migrations, each in a transaction of its own: it is applied completely, together
 * with its record, or not at all. Any number of processes may call this at once; one of them does
 * the work, and all succeed.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<MigrationStep[]> {
  const known = await knownMigrations(url, options)
  const functions = await knownFunctions(url, options)
  const steps: MigrationStep[] = []
  await using(open(url, options, true) as Promise<MigrationDatabase>, async (database) => {
    // The usual case at a start needs no lock, and no privilege to create tables either.
    if (isUpToDate(known, await database.applied()) && !(await lacks(database, functions))) return
    for (;;) {
      const done = await database.alone((ledger) => applyNext(database, ledger, known, functions))
      if (done.length === 0) return
      steps.push(...done)
    }
  })
  return steps
}

/**
 * Rolls back the newest migration, unless workers run. After the last one nothing of Oncue is left.
 * Null: there was none.
 */
export async function rollback(url: string, options: RollbackOptions = {}): Promise<MigrationStep | null> {
  const known = await knownMigrations(url, options)
  return using(open(url, options), async (database) => {
    if (!(await database?.applied())) return null
    return database?.alone((ledger) => revertLast(database, ledger, known, options.force ?? false)) ?? null
  })
}

/** What `rollback` would roll back and lose. Changes nothing. Null: there is nothing to roll back. */
export async function previewRollback(
  url: string,
  options: MigrateOptions = {},
): Promise<RollbackPreview | null> {
  const known = await knownMigrations(url, options)
  return using(open(url, options), async (database) => {
    const applied = await database?.applied()
    const last = applied && lastOf(known, applied)
    if (!database || !last) return null
    const lost = []
    const statements = splitStatements(last.down ?? '')
    const copied = statements.map(({ text }) => /\brename\s+to\s+([\w."]+)/i.exec(text)?.[1])
    for (const { text } of statements) {
      for (const { table, column } of dropsOf(text)) {
        // The old version of a table that is recreated with the same rows.
        if (copied.includes(table)) continue
        const name = database.rename(table).replaceAll('"', '')
        lost.push({ table: column ? `${name}.${column}` : name, rows: await database.rowsOf(table, column) })
      }
    }
    return { name: last.name, lost, liveWorkers: await database.liveWorkers() }
  })
}

/** The tables and columns that a statement drops. */
function dropsOf(text: string): { readonly table: string; readonly column?: string }[] {
  const table = /^drop\s+table\s+(?:if\s+exists\s+)?([\w."]+)/i.exec(text)?.[1]
  if (table) return [{ table }]
  const altered = /^alter\s+table\s+(?:if\s+exists\s+)?([\w."]+)/i.exec(text)?.[1]
  if (!altered) return []
  const columns = text.matchAll(/\bdrop\s+column\s+(?:if\s+exists\s+)?"?(\w+)"?/gi)
  return [...columns].map(([, column = '']) => ({ table: altered, column }))
}

/** Changes nothing; does not create a SQLite file that does not exist. */
export async function migrationStatus(url: string, options: MigrateOptions = {}): Promise<MigrationStatus> {
  const known = await knownMigrations(url, options)
  const ours = await knownFunctions(url, options)
  const { applied, functions } = await using(open(url, options), async (database) => ({
    applied: (await database?.applied()) ?? [],
    functions: database ? await functionStates(database, ours) : [],
  }))
  const names = new Set([...known, ...applied].map(({ name }) => name))
  const migrations = [...names].sort().map((name) => ({
    name,
    state: stateOf(name, known, applied),
    appliedAt: applied.find((record) => record.name === name)?.appliedAt ?? null,
  }))
  return { dialect: dialectOf(url), migrations, functions }
}

async function functionStates(
  database: MigrationDatabase,
  ours: FunctionSet | null,
): Promise<FunctionStatus[]> {
  const isMissing = await lacks(database, ours)
  const sets = (await database.functionSets()).map(({ hash, release, lastSeen }): FunctionStatus => {
    return { hash, state: hash === ours?.hash ? 'current' : 'other', release, lastSeen }
  })
  if (!ours || sets.some(({ state }) => state === 'current')) return sets
  return [
    ...sets,
    { hash: ours.hash, state: isMissing ? 'missing' : 'current', release: null, lastSeen: null },
  ]
}

/** Removes the functions of a build that is no longer in use. */
export async function removeFunctions(
  url: string,
  hash: string,
  options: MigrateOptions = {},
): Promise<void> {
  const ours = await knownFunctions(url, options)
  const refuse = (message: string, hint: string): never => {
    throw new OncueError('INVALID_STATE', message, { hint, details: { hash } })
  }
  if (hash === ours?.hash)
    refuse(`This version of Oncue uses the functions ${hash}`, 'Remove only the functions of other versions.')
  await using(open(url, options), async (database) => {
    if (!database) throw unknownFunctions(hash)
    await database.alone(async (ledger) => {
      const set = (await database.functionSets()).find((installed) => installed.hash === hash)
      if (!set) throw unknownFunctions(hash)
      if (set.inUse) {
        const seen = `${set.lastSeen.toISOString().slice(0, 19)}Z`
        refuse(
          `The functions ${hash} (${set.release}) were in use at ${seen}`,
          'Stop the workers and APIs of that version, and remove its functions 7 days later.',
        )
      }
      await ledger.dropFunctions(hash)
      if (ours) await ledger.pointApi(ours)
    })
  })
}

function unknownFunctions(hash: string): OncueError {
  return new OncueError('NOT_FOUND', `There are no functions ${hash} in this database`, {
    hint: '`oncue migrate --status` lists those that are installed.',
  })
}

/**
 * Throws MIGRATION_NEEDED or SCHEMA_TOO_NEW unless this code can work with the database. Returns which of its
 * migrations are newer than this code.
 */
export async function assertMigrated(url: string, options: MigrateOptions = {}): Promise<string[]> {
  const status = await migrationStatus(url, options)
  refuseUnknown(namesOf(status, 'breaking'))
  const pending = namesOf(status, 'pending')
  if (pending.length > 0) {
    const schema = toSchema(options.schema)
    const [what, hint] =
      schema === DEFAULT_SCHEMA ? ['database'] : [`schema ${schema}`, migrationHint(schema)]
    const file = missingFile(url)
    throw file === null
      ? new OncueError('MIGRATION_NEEDED', `The ${what} lacks ${list(pending)}`, {
          details: { pending },
          hint,
        })
      : new OncueError('MIGRATION_NEEDED', `There is no file ${file}`, {
          details: { pending },
          hint: `Check the path in --url or DATABASE_URL: \`oncue dev\` keeps its database in .oncue/oncue.db. If the database is new: ${hint ?? ERRORS.MIGRATION_NEEDED.hint}`,
        })
  }
  return namesOf(status, 'newer')
}

/** The migrations in this state. Functions that are missing are pending, too. */
export function namesOf({ migrations, functions }: MigrationStatus, wanted: MigrationState): string[] {
  const names = migrations.flatMap(({ name, state }) => (state === wanted ? [name] : []))
  const missing = functions.filter(({ state }) => wanted === 'pending' && state === 'missing')
  return [...names, ...missing.map(({ hash }) => stepName(hash))]
}

/** A path is more often mistyped than new, and a migration would create an empty database there. */
function missingFile(url: string): string | null {
  const file = dialectOf(url) === 'sqlite' ? sqliteFile(url) : null
  return file === null || existsSync(file) ? null : file
}

/** Functions are installed in the transaction of the last migration: the tables are never there without them. */
async function applyNext(
  database: MigrationDatabase,
  ledger: Ledger,
  known: readonly Migration[],
  functions: FunctionSet | null,
): Promise<MigrationStep[]> {
  const applied = await ledger.open()
  verify(known, applied)
  const [next, ...later] = pendingOf(known, applied)
  const steps: MigrationStep[] = []
  if (next) {
    refuseUnknown(newerOf(known, applied))
    const step = timed(next.name, async () => {
      await execute(database, ledger, next.name, 'migration.sql', next.up)
      await ledger.record(next)
    })
    steps.push(await step)
  }
  if (later.length > 0 || !functions || !(await lacks(database, functions))) return steps
  const { hash } = functions
  const name = stepName(hash)
  const step = timed(name, async () => {
    await execute(database, ledger, name, 'functions.sql', installable(functions))
    await ledger.recordFunctions({ hash, release: RELEASE, needs: String(known.at(-1)?.name) })
    await ledger.pointApi(functions)
  })
  return [...steps, await step]
}

async function lacks(database: MigrationDatabase, functions: FunctionSet | null): Promise<boolean> {
  return functions !== null && !(await database.hasFunctions(functions.hash))
}

const stepName = (hash: string) => `functions_${hash}`

/** The newest migration, if this code may roll it back. */
function lastOf(known: readonly Migration[], applied: readonly AppliedMigration[]): Migration | undefined {
  verify(known, applied)
  refuseUnknown(newerOf(known, applied))
  const last = applied.at(-1)
  return known.find(({ name }) => name === last?.name)
}

async function revertLast(
  database: MigrationDatabase,
  ledger: Ledger,
  known: readonly Migration[],
  force: boolean,
): Promise<MigrationStep | null> {
  const applied = await ledger.open()
  const migration = lastOf(known, applied)
  if (!migration) {
    await ledger.remove()
    return null
  }
  if (!force) await refuseLiveWorkers(database)
  const { name, down } = migration
  if (down === null)
    throw new OncueError('MIGRATION_FAILED', `${name} has no down.sql and cannot be rolled back`)
  return timed(name, async () => {
    const sets = (await database.functionSets()).filter(({ needs }) => needs >= name)
    for (const { hash } of sets) await ledger.dropFunctions(hash)
    if (sets.length > 0) await ledger.pointApi(await readFunctions())
    await execute(database, ledger, name, 'down.sql', down)
    await ledger.forget(name)
    if (applied.length === 1) await ledger.remove()
  })
}

async function refuseLiveWorkers(database: MigrationDatabase): Promise<void> {
  const live = await database.liveWorkers()
  if (live === 0) return
  const message = `${live} ${live === 1 ? 'worker runs' : 'workers run'} on this database`
  throw new OncueError('INVALID_STATE', message, {
    hint: 'Stop them first. With --force it is rolled back while they run, and they fail.',
    details: { liveWorkers: live },
  })
}

async function execute(
  { rename }: MigrationDatabase,
  ledger: Ledger,
  name: string,
  file: string,
  sql: string,
): Promise<void> {
  for (const statement of splitStatements(sql)) {
    try {
      await ledger.execute(statement.text)
    } catch (cause) {
      const line = lineOf(statement, cause, rename)
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new OncueError('MIGRATION_FAILED', `${name} failed at ${file}:${line}: ${reason}`, {
        cause,
        hint: ledger.hintOf(cause),
        details: { migration: name, file, line },
      })
    }
  }
}

/** Postgres gives the exact place of some errors, as a character of the statement, counted from 1. */
function lineOf({ text, line }: Statement, cause: unknown, rename: Rename): number {
  const position = Number((cause as { position?: unknown } | null)?.position ?? 1)
  const before = rename(text).slice(0, position - 1)
  return line + before.split('\n').length - 1
}

/** Refuses a database whose applied migrations are not the ones we know. */
function verify(known: readonly Migration[], applied: readonly AppliedMigration[]): void {
  const named = (wanted: MigrationState) =>
    applied.filter(({ name }) => stateOf(name, known, applied) === wanted)
  refuseUnknown(named('breaking').map(({ name }) => name))
  const [changed] = named('changed')
  if (changed) {
    throw new OncueError('MIGRATION_CHANGED', `${changed.name} was changed after it was applied`, {
      details: { migration: changed.name },
    })
  }
}

function isUpToDate(known: readonly Migration[], applied: readonly AppliedMigration[] | null): boolean {
  if (!applied) return false
  verify(known, applied)
  return pendingOf(known, applied).length === 0
}

function pendingOf(known: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  return known.filter(({ name }) => !applied.some((record) => record.name === name))
}

/** Migrations of newer code: none may be inserted before them, and older ones may not be rolled back. */
function newerOf(known: readonly Migration[], applied: readonly AppliedMigration[]): string[] {
  return applied.flatMap(({ name }) => (known.some((file) => file.name === name) ? [] : [name]))
}

function refuseUnknown(unknown: readonly string[]): void {
  if (unknown.length === 0) return
  const message = `The database has ${list(unknown)}, which this version does not know`
  throw new OncueError('SCHEMA_TOO_NEW', message, { details: { unknown } })
}

function stateOf(
  name: string,
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): MigrationState {
  const file = known.find((migration) => migration.name === name)
  const record = applied.find((migration) => migration.name === name)
  if (!record) return 'pending'
  if (!file) return known.some((migration) => migration.name === record.needs) ? 'newer' : 'breaking'
  return file.checksum === record.checksum ? 'applied' : 'changed'
}

async function knownMigrations(url: string, { folder }: MigrateOptions): Promise<Migration[]> {
  return folder ? readMigrations(folder) : (await ownMigrations(dialectOf(url))).map(toMigration)
}

async function knownFunctions(
  url: string,
  { folder, functions }: MigrateOptions,
): Promise<FunctionSet | null> {
  if (functions || folder || dialectOf(url) === 'sqlite') return functions ?? null
  return readFunctions()
}

/**
 * Null: a SQLite file that does not exist, unless it is to be created. Imports only the driver of the dialect
 * in use.
 */
async function open(
  url: string,
  { schema, runtime = systemRuntime, lockTimeoutMs, signal }: MigrateOptions,
  create = false,
): Promise<MigrationDatabase | null> {
  if (dialectOf(url) === 'postgres') {
    const { openPostgres } = await import('../postgres/migrate.ts')
    return openPostgres(url, toSchema(schema), runtime, lockTimeoutMs, signal)
  }
  const { openSqlite } = await import('../sqlite/migrate.ts')
  return openSqlite(sqliteFile(url), toSchema(schema), create, runtime, signal)
}

async function using<D extends MigrationDatabase | null, T>(
  opening: Promise<D>,
  work: (database: D) => Promise<T>,
): Promise<T> {
  const database = await opening
  try {
    return await work(database)
  } finally {
    await database?.close()
  }
}

/** By the real clock, also in a simulation: it measures the database. */
async function timed(name: string, work: () => Promise<void>): Promise<MigrationStep> {
  const start = systemRuntime.monotonic()
  await work()
  return { name, ms: Math.round(systemRuntime.monotonic() - start) }
}

function list(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
}
