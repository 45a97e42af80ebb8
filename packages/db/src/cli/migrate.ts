import { OncueError } from '@oncue/core'
import type { Command } from 'commander'
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
import { type Call, EXIT, implement, type Output } from './command.ts'

const EXAMPLES = [
  '                                     apply what is pending',
  '--status                             show what is applied and what is pending',
  '--rollback                           show what rolling back the newest migration would lose',
  '--rollback --yes                     roll it back',
  '--remove-functions 1a2b3c4d          remove the functions of a version that is no longer in use',
  '--url postgres://app@db.internal/app',
  '--url file:./.data/oncue.db --json',
  '--schema billing                     a second installation in the same database',
]

const EXIT_CODES = `
Exit codes:
  0  done, or nothing to do
  1  failed; the failed migration was rolled back
  2  wrong usage or a wrong setting; --rollback without --yes: nothing was changed
  3  --status: the database is not up to date`

interface Options {
  readonly rollback?: true
  readonly yes?: true
  readonly force?: true
  readonly status?: true
  readonly removeFunctions?: string
}

type Installation = Pick<Call, 'url' | 'schema'>

export function declareMigrate(command: Command): Command {
  command
    .summary('create or update the tables of Oncue')
    .description("create or update the tables that this version of Oncue needs; changes only Oncue's own")
    .option(
      '--rollback',
      'count the rows that rolling back the newest migration would lose; with --yes roll it back',
    )
    .option('--yes', 'with --rollback: do it; the data in its tables is lost')
    .option('--force', 'with --rollback: also while workers run, which then fail')
    .option('--status', 'show what is applied and what is pending; change nothing')
    .option(
      '--remove-functions <hash>',
      'Postgres: remove a set of functions that no worker or API has used for 7 days (--status lists them)',
    )
    // Before a database is chosen: wrong usage needs none.
    .hook('preAction', () => checkUsage(command))
  return implement<Options, ReturnType<typeof readConfig>>(command, {
    examples: EXAMPLES,
    readConfig,
    run,
  }).addHelpText('after', EXIT_CODES)
}

function checkUsage(command: Command): void {
  const options = command.opts<Options>()
  if ([options.rollback, options.status, options.removeFunctions].filter(Boolean).length > 1)
    command.error('error: choose one of --rollback, --status and --remove-functions')
  if ((options.yes || options.force) && !options.rollback)
    command.error('error: --yes and --force need --rollback')
}

async function run({ options, url, schema }: Call<Options>): Promise<Output> {
  if (url === ':memory:') {
    throw new OncueError('INVALID_DATABASE_URL', 'There is nothing to migrate in :memory:', {
      hint: 'A :memory: database is migrated by the process that opens it. Use postgres://… or file:….',
    })
  }
  if (options.status) return showStatus({ url, schema })
  if (options.removeFunctions !== undefined) return remove({ url, schema }, options.removeFunctions)
  return options.rollback ? takeBack({ url, schema }, options) : apply({ url, schema })
}

async function apply({ url, schema }: Installation): Promise<Output> {
  const applied = await migrate(url, { schema })
  const lines = applied.map(({ name, ms }) => `applied ${name} (${ms} ms)`)
  return {
    text: lines.join('\n') || 'nothing to do: the database is up to date',
    json: { applied },
  }
}

async function remove({ url, schema }: Installation, hash: string): Promise<Output> {
  await removeFunctions(url, hash, { schema })
  return { text: `removed functions_${hash}`, json: { removed: hash } }
}

async function takeBack({ url, schema }: Installation, { yes, force }: Options): Promise<Output> {
  const preview = await previewRollback(url, { schema })
  if (preview && !yes) return { ...describe(preview), exit: EXIT.usage }
  const step = await rollback(url, { schema, force })
  const text = step
    ? `rolled back ${step.name} (${step.ms} ms)`
    : 'nothing to do: Oncue is not installed in this database'
  return { text, json: { rolledBack: step } }
}

function describe(preview: RollbackPreview): Output {
  const { name, lost, liveWorkers } = preview
  const width = Math.max(0, ...lost.map(({ table }) => table.length))
  const rows = lost.map(({ table, rows }) => `  ${table.padEnd(width)}  ${rows.toLocaleString('en-US')}`)
  const total = lost.reduce((sum, { rows }) => sum + rows, 0)
  const lines = [
    `${name} would be rolled back; Oncue will not work until it is applied again`,
    total === 0
      ? 'no rows would be lost'
      : `${total.toLocaleString('en-US')} rows would be permanently lost:`,
    ...(total === 0 ? [] : rows),
    ...(liveWorkers === 0 ? [] : [stopFirst(liveWorkers)]),
    'nothing was changed; add --yes to do it',
  ]
  return { text: lines.join('\n'), json: { rolledBack: null, preview } }
}

const stopFirst = (live: number) =>
  `${live === 1 ? '1 worker runs: stop it' : `${live} workers run: stop them`} first, or add --force`

async function showStatus({ url, schema }: Installation): Promise<Output> {
  const status = await migrationStatus(url, { schema })
  const upToDate =
    status.migrations.every(({ state }) => state === 'applied' || state === 'newer') &&
    status.functions.every(({ state }) => state !== 'missing')
  return {
    text: table(status),
    json: { upToDate, ...status },
    exit: upToDate ? EXIT.done : EXIT.incomplete,
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
