#!/usr/bin/env node
import { inspect } from 'node:util'
import { isOncueError, OncueError } from '@oncue/core'
import { Command, CommanderError } from 'commander'
import { readConfig } from '../config.ts'
import {
  type MigrationStatus,
  migrate,
  migrationStatus,
  previewRollback,
  type RollbackPreview,
  removeFunctions,
  rollback,
} from '../migrate/migrate.ts'
import { type ChosenDatabase, chooseDatabase, dialectOf } from '../url.ts'

const EXIT = { done: 0, failed: 1, usage: 2, notUpToDate: 3 } as const

const HELP = `
Examples:
  $ oncue-migrate                                      apply what is pending
  $ oncue-migrate --status                             see what is applied and what is pending
  $ oncue-migrate --rollback                           see what taking back the newest migration would lose
  $ oncue-migrate --rollback --yes                     take it back
  $ oncue-migrate --remove-functions 1a2b3c4d          remove the functions of a version that is not in use any more
  $ oncue-migrate --url postgres://app@db.internal/app
  $ oncue-migrate --url file:./.data/oncue.db --json
  $ oncue-migrate --schema billing                     a second installation in the same database

Exit codes:
  0  done, or nothing to do
  1  it failed; nothing of the failed migration was kept
  2  wrong usage; --rollback without --yes: nothing was changed
  3  --status: the database is not up to date`

interface Options {
  rollback?: true
  yes?: true
  force?: true
  status?: true
  removeFunctions?: string
  url?: string
  schema?: string
  json?: true
}

type Installation = Pick<ChosenDatabase, 'url' | 'schema'>

/** What a command has to say, to people and to programs. */
interface Answer {
  text: string
  json: unknown
  exit?: number
}

const config = readConfig()

const program = new Command('oncue-migrate')
  .description(
    "Brings a database to the tables that this version of Oncue needs. Touches nothing but Oncue's own.",
  )
  .option('--rollback', 'count what taking back the newest migration would lose; with --yes take it back')
  .option('--yes', 'with --rollback: do it; what its tables hold is lost')
  .option('--force', 'with --rollback: also while workers run, which then fail')
  .option('--status', 'show what is applied and what is pending; change nothing')
  .option(
    '--remove-functions <hash>',
    'Postgres: remove a set of functions that no worker or API has used for 7 days (--status lists them)',
  )
  .option(
    '--url <url>',
    'postgres://… or file:…  (default: DATABASE_URL, or file:./.data/oncue.db outside production)',
  )
  .option(
    '--schema <name>',
    'which of several installations in the database: a schema on Postgres, a prefix on SQLite  (default: ONCUE_SCHEMA, or oncue)',
  )
  .option('--json', 'answer in JSON, errors too')
  .addHelpText('after', HELP)
  .allowExcessArguments(false)
  .showHelpAfterError('(--help shows how it is used)')
  .exitOverride()

async function main(): Promise<number> {
  const options = program.parse().opts<Options>()
  if ([options.rollback, options.status, options.removeFunctions].filter(Boolean).length > 1)
    program.error('error: choose one of --rollback, --status and --remove-functions')
  if ((options.yes || options.force) && !options.rollback)
    program.error('error: --yes and --force belong to --rollback')
  try {
    const { url, schema, shown } = choose(options)
    process.stderr.write(`database: ${shown}\n`)
    const { text, json, exit } = await perform(options, { url, schema })
    process.stdout.write(options.json ? `${JSON.stringify(json)}\n` : `${text}\n`)
    return exit ?? EXIT.done
  } catch (error) {
    report(error, options)
    return EXIT.failed
  }
}

function perform(options: Options, installation: Installation): Promise<Answer> {
  if (options.status) return showStatus(installation)
  if (options.removeFunctions !== undefined) return remove(installation, options.removeFunctions)
  return options.rollback ? takeBack(installation, options) : apply(installation)
}

async function apply({ url, schema }: Installation): Promise<Answer> {
  const applied = await migrate(url, { schema })
  const lines = applied.map(({ name, ms }) => `applied ${name} (${ms} ms)`)
  return {
    text: lines.join('\n') || 'nothing to do: the database is up to date',
    json: { applied },
  }
}

async function remove({ url, schema }: Installation, hash: string): Promise<Answer> {
  await removeFunctions(url, hash, { schema })
  return { text: `removed functions_${hash}`, json: { removed: hash } }
}

async function takeBack({ url, schema }: Installation, { yes, force }: Options): Promise<Answer> {
  const preview = await previewRollback(url, { schema })
  if (preview && !yes) return { ...describe(preview), exit: EXIT.usage }
  const step = await rollback(url, { schema, force })
  const text = step
    ? `rolled back ${step.name} (${step.ms} ms)`
    : 'nothing to do: Oncue is not installed in this database'
  return { text, json: { rolledBack: step } }
}

function describe(preview: RollbackPreview): Answer {
  const { name, lost, liveWorkers } = preview
  const width = Math.max(0, ...lost.map(({ table }) => table.length))
  const rows = lost.map(({ table, rows }) => `  ${table.padEnd(width)}  ${rows.toLocaleString('en-US')}`)
  const total = lost.reduce((sum, { rows }) => sum + rows, 0)
  const lines = [
    `${name} would be taken back; Oncue does not work until it is applied again`,
    total === 0 ? 'no rows would be lost' : `${total.toLocaleString('en-US')} rows would be lost for good:`,
    ...(total === 0 ? [] : rows),
    ...(liveWorkers === 0 ? [] : [stopFirst(liveWorkers)]),
    'nothing was changed; add --yes to do it',
  ]
  return { text: lines.join('\n'), json: { rolledBack: null, preview } }
}

const stopFirst = (live: number) =>
  `${live === 1 ? '1 worker runs: stop it' : `${live} workers run: stop them`} first, or add --force`

async function showStatus({ url, schema }: Installation): Promise<Answer> {
  const status = await migrationStatus(url, { schema })
  const upToDate =
    status.migrations.every(({ state }) => state === 'applied' || state === 'newer') &&
    status.functions.every(({ state }) => state !== 'missing')
  return {
    text: table(status),
    json: { upToDate, ...status },
    exit: upToDate ? EXIT.done : EXIT.notUpToDate,
  }
}

function table({ migrations, functions }: MigrationStatus): string {
  const rows = [
    ...migrations.map(({ name, state, appliedAt }) => [state, name, toSeconds(appliedAt)]),
    ...functions.map(({ hash, state, release, lastSeen }) => [
      state,
      `functions_${hash}`,
      lastSeen ? `last seen ${toSeconds(lastSeen)}, installed by ${release}` : '',
    ]),
  ]
  const widthOf = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0))
  const widths = [widthOf(0), widthOf(1)]
  return rows
    .map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')}`.trimEnd())
    .join('\n')
}

const toSeconds = (time: Date | null) => (time ? `${time.toISOString().slice(0, 19)}Z` : '')

function choose({ url: typed, schema = config.schema }: Options): ChosenDatabase {
  const { databaseUrl: configured, nodeEnv, callerFolder } = config
  const chosen = chooseDatabase({ typed, configured, nodeEnv, callerFolder, schema })
  if (chosen.url === ':memory:') {
    throw new OncueError('INVALID_DATABASE_URL', 'There is nothing to migrate in :memory:', {
      hint: 'A database in memory is migrated by the process that opens it. Use postgres://… or file:….',
    })
  }
  dialectOf(chosen.url)
  return chosen
}

function report(cause: unknown, options: Options): void {
  const error = isOncueError(cause) ? cause : new OncueError('INTERNAL', String(cause), { cause })
  if (options.json) process.stdout.write(`${JSON.stringify({ error })}\n`)
  else process.stderr.write(`error ${error.code}: ${error.message}\n${error.hint}\n`)
  if (config.debug) process.stderr.write(`${inspect(error)}\n`)
}

try {
  process.exitCode = await main()
} catch (error) {
  // Commander has printed the help, or what is wrong with the arguments.
  if (!(error instanceof CommanderError)) throw error
  process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.usage
}
