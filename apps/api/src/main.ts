#!/usr/bin/env node
import { isOncueError } from '@oncue/core'
import { type Config, readConfig } from './config.ts'
import { createLogger } from './log.ts'
import { startApi } from './start.ts'

async function main(config: Config): Promise<void> {
  const log = createLogger({ level: config.logLevel })
  const api = await startApi(config, log)
  log.info({ url: api.url, database: api.services.store.dialect }, 'the API is up')
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
          process.exitCode = 1
        },
      )
    })
  }
}

function explain(error: unknown): string {
  if (!isOncueError(error)) return error instanceof Error ? (error.stack ?? error.message) : String(error)
  return `${error.code}: ${error.message}\n${error.hint}`
}

try {
  await main(readConfig())
} catch (error) {
  process.stderr.write(`${explain(error)}\n`)
  process.exitCode = 1
}
