import { newJobId, OncueError } from '@oncue/core'
import { assertText, cleanText } from '@oncue/core/internal'
import type { AuditEntry, AuditFilter, AuditStore, NewAuditEntry } from '../access.ts'
import { decodeCursor, encodeCursor } from '../reads/cursor.ts'
import type { PortableStatement, Sql, Value } from '../sql.ts'

/** Rows of one insert: far below the number of values that a statement may carry. */
const CHUNK = 500
const TEXT_LENGTH = 255

type StoredEntry = {
  readonly id: string
  readonly at: unknown
  readonly actor_id: string
  readonly actor_name: string
  readonly actor_kind: string
  readonly action: string
  readonly target: unknown
  readonly count: number | null
  readonly ip: string | null
  readonly user_agent: string | null
  readonly request_id: string | null
}

export const clean = (text: string) => cleanText(text.slice(0, TEXT_LENGTH))
const cleanOrNull = (text: string | null | undefined) => (text ? clean(text) : null)

/** Written once for both databases. */
export function createAudit(sql: Sql): AuditStore {
  const read = (row: StoredEntry): AuditEntry => ({
    id: row.id,
    at: sql.time(row.at) as Date,
    actor: { id: row.actor_id, name: row.actor_name, kind: row.actor_kind },
    action: row.action,
    target: sql.json(row.target),
    count: row.count,
    ip: row.ip,
    userAgent: row.user_agent,
    requestId: row.request_id,
  })

  return {
    async record(entries) {
      if (entries.length === 0) return
      const now = await sql.now()
      const statements: PortableStatement[] = []
      for (let from = 0; from < entries.length; from += CHUNK)
        statements.push(insertEntries(entries.slice(from, from + CHUNK), now))
      const [first, ...others] = statements
      // Every enqueue over the API is recorded: one round trip instead of a transaction's three.
      if (first && others.length === 0) await sql.write({ ...first, text: `${first.text} returning id` })
      else await sql.run(...statements)
    },

    async list(filter = {}, { limit = 50, cursor } = {}) {
      if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
        throw new OncueError('INVALID_INPUT', `limit must be from 1 to 1000, got ${String(limit)}`)
      const { conditions, values } = where(filter)
      if (cursor !== undefined) {
        const { created, id } = decodeCursor(cursor, filter)
        conditions.push('(at, id) < (?, ?)')
        values.push(created, id)
      }
      const rows = await sql.all<StoredEntry>({
        text: `select * from {audit} where ${conditions.join(' and ') || '1 = 1'}
          order by at desc, id desc limit ${limit + 1}`,
        values,
      })
      const items = rows.slice(0, limit).map(read)
      const last = items.at(-1)
      const more = rows.length > limit && last
      return { items, nextCursor: more ? encodeCursor({ created: last.at, id: last.id }, filter) : null }
    },

    prune({ before, actions, limit = 1_000 }) {
      const only = actions ? `and action in (${actions.map(() => '?').join(', ')})` : ''
      return sql.run({
        text: `delete from {audit} where id in (
          select id from {audit} where at < ? ${only} order by at, id limit ?)`,
        values: [before, ...(actions ?? []), limit],
      })
    },
  }
}

/** For those who write them beside something else, in one transaction. */
export function insertEntries(entries: readonly NewAuditEntry[], now: Date): PortableStatement {
  const values = entries.flatMap(({ actor, action, target, count, ip, userAgent, requestId }): Value[] => [
    ...[newJobId(now.getTime()), now, clean(actor.id), clean(actor.name), clean(actor.kind), clean(action)],
    ...[target === undefined ? null : JSON.stringify(target), count ?? null],
    ...[cleanOrNull(ip), cleanOrNull(userAgent), cleanOrNull(requestId)],
  ])
  return {
    text: `insert into {audit}
        (id, at, actor_id, actor_name, actor_kind, action, target, count, ip, user_agent, request_id)
      values ${entries.map(() => '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
    values,
  }
}

function where({ actorId, actorKind, action, from, to }: AuditFilter): {
  conditions: string[]
  values: Value[]
} {
  const prefix = action?.endsWith('*') ? action.slice(0, -1) : undefined
  const all = [
    ['actorId', 'actor_id = ?', actorId],
    ['actorKind', 'actor_kind = ?', actorKind],
    ['action', 'action = ?', prefix === undefined ? action : undefined],
    ['action', `substr(action, 1, ${prefix?.length}) = ?`, prefix],
    ['from', 'at >= ?', from],
    ['to', 'at < ?', to],
  ] as const
  const given = all.filter(([, , value]) => value !== undefined)
  for (const [name, , value] of given) if (typeof value === 'string') assertText(value, name)
  return {
    conditions: given.map(([, condition]) => condition),
    values: given.map(([, , value]) => value as Value),
  }
}
