import { type CommonConfig, readCommonConfig } from '@oncue/db'
import { implement, toWhole } from '@oncue/db/cli'
import type { Command } from 'commander'

/** The command that serves the API, as `oncue api` and as `oncue-api`. Loads no server until it is called. */

const SETTINGS = `
Settings (environment variables):
  DATABASE_URL              postgres://…, file:./path.db or :memory:
                            (file:./.data/oncue.db; with NODE_ENV=production it must be set)
  ONCUE_SCHEMA              which of several installations in the database (oncue)
  ONCUE_HOST, ONCUE_PORT    where to listen (127.0.0.1, 4400)
  ONCUE_ADMIN_TOKEN         the first admin's token (created and printed at the first start)
  ONCUE_LOG_LEVEL           debug, info, warn, error, silent (info)
docs/guides/api.md and docs/guides/access.md list all settings.

Exit codes:
  0  stopped as asked
  1  it failed
  2  wrong usage or a wrong setting`

export interface ApiOptions {
  readonly port?: number
}

export function declareApi(command: Command): Command {
  command
    .summary('serve the API and the app')
    .description('serve the Oncue API and the app until SIGTERM or SIGINT')
    .option('--port <port>', 'where the API listens, 4400  [ONCUE_PORT]', toWhole(0, 65_535))
  return implement<ApiOptions, CommonConfig>(command, {
    examples: ['', '--port 4401 --url postgres://app@db.internal/app', '--schema billing'],
    readConfig: readCommonConfig,
    saysDatabase: false,
    run: async (call) => (await import('./run-api.ts')).runApi(call),
  }).addHelpText('after', SETTINGS)
}
