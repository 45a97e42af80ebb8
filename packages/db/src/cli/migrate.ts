#!/usr/bin/env node
import { inspect } from 'node:util'
import { isOncueError, OncueError } from '@oncue/core'
import { Command, CommanderError } from 'commander'
import { readConfig } from '../config.ts'
import { type MigrationStatus, migrate, migrationStatus, rollback } from '../migrate.ts'
import { dialectOf, sqliteFile, withoutPassword } from '../url.ts'

const EXIT = { done: 0, failed: 1, usage: 2, notUpToDate: 3 } as const

const HELP = `
Examples:
  $ oncue-migrate                                      apply what is pending
  $ oncue-migrate --status                             see what is applied and what is pending
  $ oncue-migrate --rollback                           take back the newest migration
  $ oncue-migrate --url postgres://app@db.internal/app
  $ oncue-migrate --url file:./.data/oncue.db --json

Exit codes:
  0  done, or nothing to do
  1  it failed; nothing of the failed migration was kept
  2  wrong usage
  3  --status: the database is not up to date`

interface Options {
  rollback?: true
  status?: true
  url?: string
  json?: true
}

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
  .option('--rollback', 'take back the newest migration, one at each call; its data is lost')
  .option('--status', 'show what is applied and what is pending; change nothing')
  .option('--url <url>', 'postgres://… or file:…  (default: DATABASE_URL, or file:./.data/oncue.db)')
  .option('--json', 'answer in JSON, errors too')
  .addHelpText('after', HELP)
  .allowExcessArguments(false)
  .showHelpAfterError('(--help shows how it is used)')
  .exitOverride()

async function main(): Promise<number> {
  const options = program.parse().opts<Options>()
  if (options.rollback && options.status) program.error('error: choose one of --rollback and --status')
  try {
    const url = resolveUrl(options.url)
    const { text, json, exit } = await perform(options, url)
    process.stdout.write(options.json ? `${JSON.stringify(json)}\n` : `${text}\n`)
    return exit ?? EXIT.done
  } catch (error) {
    report(error, options)
    return EXIT.failed
  }
}

function perform(options: Options, url: string): Promise<Answer> {
  if (options.status) return showStatus(url)
  return options.rollback ? takeBack(url) : apply(url)
}

async function apply(url: string): Promise<Answer> {
  const applied = await migrate(url)
  const lines = applied.map(({ name, ms }) => `applied ${name} (${ms} ms)`)
  return {
    text: lines.join('\n') || `nothing to do: ${withoutPassword(url)} is up to date`,
    json: { applied },
  }
}

async function takeBack(url: string): Promise<Answer> {
  const step = await rollback(url)
  const text = step
    ? `rolled back ${step.name} (${step.ms} ms)`
    : `nothing to do: Oncue is not installed in ${withoutPassword(url)}`
  return { text, json: { rolledBack: step } }
}

async function showStatus(url: string): Promise<Answer> {
  const status = await migrationStatus(url)
  const upToDate = status.migrations.every(({ state }) => state === 'applied' || state === 'newer')
  return {
    text: `${withoutPassword(url)}\n${table(status)}`,
    json: { upToDate, ...status },
    exit: upToDate ? EXIT.done : EXIT.notUpToDate,
  }
}

function table({ migrations }: MigrationStatus): string {
  const widest = (texts: readonly string[]) => Math.max(...texts.map((text) => text.length))
  const width = widest(migrations.map(({ name }) => name))
  const stateWidth = widest(migrations.map(({ state }) => state))
  return migrations
    .map(({ name, state, appliedAt }) => {
      const when = appliedAt ? `${appliedAt.toISOString().slice(0, 19)}Z` : ''
      return `  ${state.padEnd(stateWidth)}  ${name.padEnd(width)}  ${when}`.trimEnd()
    })
    .join('\n')
}

/**
 * A path that is typed in means the folder it is typed in. One from the environment means the
 * folder of the process, as it does for the worker and the API, so that all agree on the file.
 */
function resolveUrl(typed: string | undefined): string {
  const url = typed ?? config.databaseUrl
  if (url === ':memory:') {
    throw new OncueError('INVALID_DATABASE_URL', 'There is nothing to migrate in :memory:', {
      hint: 'A database in memory is migrated by the process that opens it. Use postgres://… or file:….',
    })
  }
  if (dialectOf(url) === 'postgres' || typed === undefined) return url
  return `file:${sqliteFile(typed, config.callerFolder)}`
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
