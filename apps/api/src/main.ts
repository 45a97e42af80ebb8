#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { isOncueError } from '@oncue/core'
import { type Config, readConfig } from './config.ts'
import { createLogger } from './log.ts'
import { startApi } from './start.ts'

const HELP = `Usage: oncue-api

Serves the Oncue API until SIGTERM or SIGINT. It is set up by the environment:

  DATABASE_URL              postgres://…, file:./path.db or :memory:
                            (file:./.data/oncue.db; with NODE_ENV=production it must be set)
  ONCUE_SCHEMA              which of several installations in the database (oncue)
  ONCUE_HOST, ONCUE_PORT    where to listen (127.0.0.1, 4400)
  ONCUE_ADMIN_TOKEN         the first admin's token (made and printed at the first start)
  ONCUE_LOG_LEVEL           debug, info, warn, error, silent (info)

All others are in docs/guides/api.md and docs/guides/access.md.
Exit codes: 0 stopped, 1 failed, 2 used wrongly.
`
const EXIT = { failed: 1, usage: 2 } as const
/** Everybody who reaches the API may try; a few letters are soon found. */
const SHORT_TOKEN = 20

async function main(config: Config): Promise<void> {
  const log = createLogger({ level: config.logLevel })
  const api = await startApi(config, log)
  log.info({ url: api.url, database: config.database }, 'the API is up')
  if (config.adminToken !== undefined && config.adminToken.length < SHORT_TOKEN)
    log.warn({}, `ONCUE_ADMIN_TOKEN is short enough to be guessed: use ${SHORT_TOKEN} characters or more`)
  if (api.adminToken !== null) {
    // Not through the log, which others keep and read.
    process.stdout.write(`\nThe token of the first admin, shown this once:\n\n  ${api.adminToken}\n\n`)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      log.info({ signal }, 'stopping')
      api.close().then(
        () => log.info({}, 'stopped'),
        (error: unknown) => {
          log.error({ err: error }, 'did not stop cleanly')
          process.exitCode = EXIT.failed
        },
      )
    })
  }
}

/** Null: what was asked for is done. */
function readCommandLine(): Config | null {
  const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } })
  if (!values.help) return readConfig()
  process.stdout.write(HELP)
  return null
}

function fail(error: unknown, code: number): void {
  process.exitCode = isOncueError(error, 'INVALID_DATABASE_URL') ? EXIT.usage : code
  process.stderr.write(`${explain(error)}\n`)
}

function explain(error: unknown): string {
  if (isOncueError(error)) return `${error.code}: ${error.message}\n${error.hint}`
  if (!(error instanceof Error)) return String(error)
  const isArgument = 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
  return isArgument ? `${error.message}\n\n${HELP}` : (error.stack ?? error.message)
}

let config: Config | null = null
try {
  config = readCommandLine()
} catch (error) {
  fail(error, EXIT.usage)
}
if (config) await main(config).catch((error: unknown) => fail(error, EXIT.failed))
