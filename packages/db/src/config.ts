import { dirname } from 'node:path'
import { z } from 'zod'
import { type Environment, readEnvironment, text } from './environment.ts'

/** Any value but 0 and false, as other tools read DEBUG. */
const flag = z
  .string()
  .optional()
  .transform((value) => value !== undefined && value !== '' && value !== '0' && value !== 'false')

const SQLITE_LIBRARIES = ['better-sqlite3', 'node:sqlite'] as const

export type SqliteLibrary = (typeof SQLITE_LIBRARIES)[number]

/** Everything that this package reads from its environment. */
const schema = z.object({
  DATABASE_URL: text,
  ONCUE_SCHEMA: text,
  ONCUE_SQLITE: text.pipe(
    z.enum(SQLITE_LIBRARIES, { error: `must be ${SQLITE_LIBRARIES.join(' or ')}` }).optional(),
  ),
  NODE_ENV: z.string().optional(),
  /** Prints the stack of an error. */
  DEBUG: flag,
  /** Tests keep the databases that they made. */
  ONCUE_KEEP: flag,
  INIT_CWD: z.string().optional(),
  npm_package_json: z.string().optional(),
})

/** What every command reads from the environment. */
export interface CommonConfig {
  /** DATABASE_URL, if it is set. */
  databaseUrl: string | undefined
  /** ONCUE_SCHEMA, if it is set. */
  schema: string | undefined
  nodeEnv: string | undefined
  debug: boolean
  /** The folder of the caller: relative paths on the command line start here. */
  callerFolder: string
}

interface Config extends CommonConfig {
  /** ONCUE_SQLITE, if it is set. */
  sqliteLibrary: SqliteLibrary | undefined
  keepDatabases: boolean
}

export function readConfig(env: Environment = process.env, cwd = process.cwd()): Config {
  const values = readEnvironment(schema, env)
  // npm and pnpm run a script in the folder of its package.json, and set INIT_CWD to the folder they were called in.
  // Processes that the script starts inherit both variables; in another folder they mean nothing.
  const isScript = values.npm_package_json !== undefined && dirname(values.npm_package_json) === cwd
  return {
    databaseUrl: values.DATABASE_URL,
    schema: values.ONCUE_SCHEMA,
    sqliteLibrary: values.ONCUE_SQLITE,
    nodeEnv: values.NODE_ENV,
    debug: values.DEBUG,
    keepDatabases: values.ONCUE_KEEP,
    callerFolder: (isScript && values.INIT_CWD) || cwd,
  }
}
