import { once } from 'node:events'
import { type Call, EXIT, onStopSignals } from '@oncue/db/cli'
import { createLogger } from '@oncue/logger'
import { abortable, type Logger } from '@oncue/runtime'
import type { ApiOptions } from './command.ts'
import { readConfig } from './config.ts'
import { startApi } from './start.ts'

/** Anyone who reaches the API may try tokens, and a short one is soon found. */
const SHORT_TOKEN = 20

/** Serves until a signal, which also stops a start under way. A second one ends the process at once. */
export async function runApi({ options, url, schema, database }: Call<ApiOptions>): Promise<undefined> {
  const read = readConfig(undefined, undefined, { url, schema, shown: database })
  const config = { ...read, port: options.port ?? read.port }
  const log = createLogger({ level: config.logLevel, ...(options.json && { pretty: false }) })
  const stopping = stopSignal(log)
  log.info({ database: config.database }, 'starting')
  const api = await abortable(stopping, (signal) => startApi(config, log, { signal })).catch(
    (error: unknown) => {
      if (error !== stopping.reason) throw error
    },
  )
  if (!api) {
    log.info({}, 'stopped before the API had started')
    return
  }
  log.info({ url: api.url, database: config.database }, 'API started')
  if (config.adminToken !== undefined && config.adminToken.length < SHORT_TOKEN)
    log.warn(
      {},
      `ONCUE_ADMIN_TOKEN is too short and could be guessed: use at least ${SHORT_TOKEN} characters`,
    )
  if (api.adminToken !== null) {
    // Not through the log, which others keep and read.
    process.stdout.write(`\nAdmin token (shown once):\n\n  ${api.adminToken}\n\n`)
  }
  if (!stopping.aborted) await once(stopping, 'abort')
  try {
    await api.close()
    log.info({}, 'stopped')
  } catch (error) {
    log.error({ err: error }, 'API did not stop cleanly')
    process.exitCode = EXIT.failed
  }
}

function stopSignal(log: Logger): AbortSignal {
  const stopping = new AbortController()
  const end = onStopSignals((signal) => {
    if (stopping.signal.aborted) {
      end()
      process.kill(process.pid, signal)
      return
    }
    log.info({ signal }, 'stopping')
    stopping.abort()
  })
  return stopping.signal
}
