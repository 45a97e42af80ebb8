import { resolve } from 'node:path'
import { OncueError } from '@oncue/core'

export type DialectName = 'postgres' | 'sqlite'

export function dialectOf(url: string): DialectName {
  if (/^postgres(ql)?:\/\//.test(url)) return 'postgres'
  if (url.startsWith('file:')) return 'sqlite'
  throw new OncueError('INVALID_DATABASE_URL', `Not a database URL: ${JSON.stringify(withoutPassword(url))}`)
}

/** The absolute path of `file:./oncue.db`, `file:/srv/oncue.db` or `file:///srv/oncue.db`. */
export function sqliteFile(url: string, base = process.cwd()): string {
  return resolve(base, url.slice('file:'.length).replace(/\?.*$/, ''))
}

/** For messages and logs. */
export function withoutPassword(url: string): string {
  return url.replace(/^(\w+:\/\/[^:@/]*):.*@/, '$1:…@').slice(0, 200)
}
