import type { Runtime } from '@oncue/runtime'
import type { CommitSettings, CommitStatements } from './portable/outcomes.ts'
import { createCommits as onPostgres } from './postgres/commits.ts'
import { renameTo } from './schema.ts'
import { createCommits as onSqlite } from './sqlite/commits.ts'

// For a process that has no store, and starts often: nothing here opens a database.
export type { CommitSettings, CommitStatements } from './portable/outcomes.ts'
export { isRepeatable } from './queue/repeatable.ts'
export { assertSees } from './queue/same-database.ts'

/** The statements of `ctx.commit` and `ctx.complete`, as those of the store with these settings. */
export function commitsOf({ dialect, schema, aheadMs }: CommitSettings, runtime: Runtime): CommitStatements {
  const rename = renameTo(schema, dialect)
  if (dialect === 'sqlite') return onSqlite({ rename, now: () => runtime.now() + (aheadMs ?? 0) })
  return onPostgres({ rename, now: () => (aheadMs === null ? null : new Date(runtime.now() + aheadMs)) })
}
