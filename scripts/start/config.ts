import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Config as ApiConfig, readConfig as readApiConfig } from '@oncue/api'
import { readConfig as readWorkerConfig, type Config as WorkerConfig } from '@oncue/worker'
import type { Options } from './options.ts'
import { ROOT } from './root.ts'

export interface Settings {
  readonly api: ApiConfig
  readonly worker: WorkerConfig
  /** The token that --new-token created. */
  readonly newToken: string | undefined
  /** Where the log and the files of the examples are. */
  readonly folder: string
}

/** Short: a first try should not take half a minute to stop. */
const GRACE = '5s'

/** The environment as the API and the worker read it, with the values that only `start` knows. */
export function readSettings(options: Options, env = process.env, cwd = process.cwd()): Settings {
  const newToken = options.newToken ? `oncue_${randomBytes(32).toString('base64url')}` : undefined
  const own = {
    ...env,
    DATABASE_URL: env.DATABASE_URL || (options.demo ? 'file:./.data/demo.db' : 'file:./.data/oncue.db'),
    ONCUE_PORT: options.port ?? env.ONCUE_PORT,
    ONCUE_ADMIN_TOKEN: newToken ?? env.ONCUE_ADMIN_TOKEN,
    ONCUE_APP_DIR: env.ONCUE_APP_DIR || join(ROOT, 'apps/mobile/dist'),
    ONCUE_GRACE: env.ONCUE_GRACE || GRACE,
  }
  return {
    api: readApiConfig(own, cwd),
    worker: readWorkerConfig(own, cwd),
    newToken,
    folder: join(cwd, '.data'),
  }
}

/** Whether the folder of the app was given. Then `start` does not build it. */
export const hasOwnApp = (env = process.env): boolean => Boolean(env.ONCUE_APP_DIR)

/** The environment that processes need to run here, without settings of Oncue: for tests. */
export function bareEnvironment(env = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(DATABASE_URL$|ONCUE_|npm_|INIT_CWD$)/.test(name)),
  )
}
