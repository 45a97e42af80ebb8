import { LIMITS, newJobId, OncueError } from '@oncue/core'
import { assertText, cleanText } from '@oncue/core/internal'
import type { AuditEntry, AuditPage, AuditRequest } from '@oncue/core/wire'
import { type Fragment, insertRows, type Sql } from './sql.ts'

export type { AuditEntry, AuditPage }
export type AuditFilter = Omit<AuditRequest, 'limit' | 'cursor'>

export type NewAuditEntry = Pick<AuditEntry, 'actor' | 'action'> & {
  readonly [Field in 'target' | 'count' | 'ip' | 'userAgent' | 'requestId']?: AuditEntry[Field] | undefined
}

/** Who did what. Rows are appended, and Control lists and prunes them; they are never changed. */
export interface AuditStore {
  /** In the order given. Texts are cut and cleaned rather than refused, so that every change is recorded. */
  record(entries: readonly NewAuditEntry[]): Promise<void>
}

/** Who did it: free text that is kept and shown. */
export function assertBy(by: string | undefined): void {
  if (by === undefined) return
  if (typeof by !== 'string' || by.length > LIMITS.keyLength) {
    throw new OncueError('INVALID_INPUT', `by must be a string of at most ${LIMITS.keyLength} characters`)
  }
  assertText(by, 'by')
}

const TEXT_LENGTH = 255

export const clean = (text: string) => cleanText(text.slice(0, TEXT_LENGTH))
const cleanOrNull = (text: string | null | undefined) => (text ? clean(text) : null)

const COLUMNS = 'id, at, actor_id, actor_name, actor_kind, action, target, count, ip, user_agent, request_id'

/** Written once for both databases. */
export function createAudit(sql: Sql): AuditStore {
  return {
    async record(entries) {
      if (entries.length === 0) return
      const statements = insertEntries(entries, await sql.now())
      const [first] = statements
      // Every enqueue over the API is recorded: one round trip instead of a transaction's three.
      if (first && statements.length === 1) await sql.write({ ...first, text: `${first.text} returning id` })
      else await sql.run(...statements)
    },
  }
}

/** For callers that write audit entries together with something else, in one transaction. */
export function insertEntries(entries: readonly NewAuditEntry[], now: Date): Fragment[] {
  const rows = entries.map(({ actor, action, target, count, ip, userAgent, requestId }) => [
    ...[newJobId(now.getTime()), now, clean(actor.id), clean(actor.name), clean(actor.kind), clean(action)],
    ...[target === undefined ? null : JSON.stringify(target), count ?? null],
    ...[cleanOrNull(ip), cleanOrNull(userAgent), cleanOrNull(requestId)],
  ])
  return insertRows('{audit}', COLUMNS, rows)
}
