import { implement, toList, toWhole } from '@oncue/db/cli'
import { type Config, readConfig } from '@oncue/worker/command'
import type { Command } from 'commander'

export interface DevOptions {
  readonly import?: string[]
  readonly port?: number
}

const DEV_FOLDER = '.oncue'

export function addDev(program: Command): void {
  implement<DevOptions, Config>(
    program
      .command('dev')
      .summary('run API, app and worker on this machine')
      .description(
        `run the API, the app and a worker until Ctrl-C, and restart the handlers when a file changes; migrates the database first: SQLite in ${DEV_FOLDER}/, unless you give another`,
      )
      .option(
        '--import <module>',
        'a module that exports `workers`; may be repeated; default: workers.ts or jobs.ts, here or in src/  [ONCUE_IMPORT]',
        toList,
      )
      .option('--port <port>', 'where the API listens, 4400  [ONCUE_PORT]', toWhole(0, 65_535)),
    {
      examples: ['', '--import ./jobs.ts --port 4401'],
      readConfig,
      defaultUrl: `file:./${DEV_FOLDER}/oncue.db`,
      saysDatabase: false,
      run: async (call) => (await import('./run-dev.ts')).runDev(call, DEV_FOLDER),
    },
  )
}
