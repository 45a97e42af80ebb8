import { dirname } from 'node:path'
import { z } from 'zod'

const flag = z
  .string()
  .optional()
  .transform((value) => value !== undefined && value !== '' && value !== '0' && value !== 'false')

/** Everything that this package reads from its environment. */
const schema = z.object({
  DATABASE_URL: z
    .string()
    .optional()
    .transform((url) => url || undefined),
  ONCUE_SCHEMA: z
    .string()
    .optional()
    .transform((schema) => schema || undefined),
  NODE_ENV: z.string().optional(),
  /** Prints stacks. Any value, as other tools take it. */
  DEBUG: flag,
  /** Tests: keep the databases that they made. */
  ONCUE_KEEP: flag,
  INIT_CWD: z.string().optional(),
  npm_package_json: z.string().optional(),
})

/** What every command reads. */
export interface CommonConfig {
  /** DATABASE_URL, if it is set. */
  databaseUrl: string | undefined
  /** ONCUE_SCHEMA, if it is set. */
  schema: string | undefined
  nodeEnv: string | undefined
  debug: boolean
  /** Where the caller stood: relative paths that are typed in mean this folder. */
  callerFolder: string
}

interface Config extends CommonConfig {
  keepDatabases: boolean
}

export function readConfig(env: NodeJS.ProcessEnv = process.env, cwd = process.cwd()): Config {
  const values = schema.parse(env)
  // npm and pnpm run a script in the folder of its package.json and tell in INIT_CWD where they
  // were called. Processes further down inherit both, where neither says anything any more.
  const isScript = values.npm_package_json !== undefined && dirname(values.npm_package_json) === cwd
  return {
    databaseUrl: values.DATABASE_URL,
    schema: values.ONCUE_SCHEMA,
    nodeEnv: values.NODE_ENV,
    debug: values.DEBUG,
    keepDatabases: values.ONCUE_KEEP,
    callerFolder: (isScript && values.INIT_CWD) || cwd,
  }
}
