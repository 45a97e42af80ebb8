import { resolve } from 'node:path'
import { OncueError } from '@oncue/core'
import { DEFAULT_SCHEMA, toSchema } from './schema.ts'

export type DialectName = 'postgres' | 'sqlite'

/** For trying things out; never assumed in production. */
const DEFAULT_URL = 'file:./.data/oncue.db'

export function dialectOf(url: string): DialectName {
  if (/^postgres(ql)?:\/\//.test(url)) return 'postgres'
  if (url.startsWith('file:')) return 'sqlite'
  const message = `Not a database URL: ${JSON.stringify(withoutPassword(url))}`
  const hint = 'That is the address of an API: pass the URL of its database, postgres://… or file:…'
  throw new OncueError('INVALID_DATABASE_URL', message, /^https?:/.test(url) ? { hint } : {})
}

/** The absolute path of `file:./oncue.db`, `file:/srv/oncue.db` or `file:///srv/oncue.db`. */
export function sqliteFile(url: string, base = process.cwd()): string {
  return resolve(base, url.slice('file:'.length).replace(/\?.*$/, ''))
}

/** For messages and logs. */
export function withoutPassword(url: string): string {
  if (url.startsWith('file:')) return url.slice(0, 200)
  return url
    .replace(/^((?:[^:@/]*:\/\/)?[^:@/]*):(?!\/\/).*@/s, '$1:…@')
    .replace(/([?&][^=&]*password=)[^&]*/gi, '$1…')
    .slice(0, 200)
}

interface DatabaseSources {
  /** The value of `--url`. */
  readonly typed?: string | undefined
  /** DATABASE_URL, if it is set. */
  readonly configured: string | undefined
  readonly nodeEnv: string | undefined
  /** The value of `--schema`, or ONCUE_SCHEMA. */
  readonly schema?: string | undefined
  /** The folder of the caller: a relative path that is typed in is resolved against it. */
  readonly callerFolder?: string | undefined
  /** Replaces `file:./.data/oncue.db`. */
  readonly defaultUrl?: string | undefined
}

export interface ChosenDatabase {
  readonly url: string
  /** Which installation in it. */
  readonly schema: string
  /** For people: which database it is, without its password. */
  readonly shown: string
}

/**
 * Which database a command uses. A path that is typed in is relative to the folder of the caller; one from the
 * environment to the folder of the process, so that worker, API and migrations agree on the file.
 */
export function chooseDatabase({
  typed,
  configured,
  nodeEnv,
  callerFolder,
  schema: wanted,
  defaultUrl = DEFAULT_URL,
}: DatabaseSources): ChosenDatabase {
  const schema = toSchema(wanted)
  const inSchema = schema === DEFAULT_SCHEMA ? '' : `, schema ${schema}`
  const url = typed ?? configured
  if (url === undefined && nodeEnv === 'production') {
    throw new OncueError('INVALID_DATABASE_URL', 'DATABASE_URL is not set, and NODE_ENV is production', {
      hint: 'Set DATABASE_URL to postgres://…, or to file:/path/to/oncue.db for SQLite: in production there is no default database.',
    })
  }
  if (url === undefined) {
    return {
      url: defaultUrl,
      schema,
      shown: `${showDatabase(defaultUrl)}${inSchema} (DATABASE_URL is not set)`,
    }
  }
  const isTypedPath = typed !== undefined && typed !== ':memory:' && dialectOf(typed) === 'sqlite'
  const chosen = isTypedPath ? `file:${sqliteFile(typed, callerFolder)}` : url
  return { url: chosen, schema, shown: `${showDatabase(chosen)}${inSchema}` }
}

/** Which database it is, for people: a file by its whole path, a server without the password. */
export function showDatabase(url: string): string {
  return url.startsWith('file:') ? `file:${sqliteFile(url)}` : withoutPassword(url)
}
