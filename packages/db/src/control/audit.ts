import { assertText } from '@oncue/core/internal'
import type { AuditFilter, AuditPage } from '../portable/audit.ts'
import { assertPageSize, decodeCursor, encodeCursor } from '../portable/reads/cursor.ts'
import { type Context, given } from './client.ts'

/** Who did what, to be read and pruned. The Store appends. */
export type AuditControl = ReturnType<typeof createAudit>

export function createAudit({ client, dialect }: Context) {
  return {
    async list(
      filter: AuditFilter = {},
      page: { readonly limit?: number | undefined; readonly cursor?: string | undefined } = {},
    ): Promise<AuditPage> {
      const { limit = 50, cursor } = page
      assertPageSize(limit)
      const { actorId, actorKind, action, from, to } = filter
      for (const [name, text] of Object.entries({ actorId, actorKind, action }))
        if (text !== undefined) assertText(text, name)
      const last = cursor === undefined ? undefined : decodeCursor(cursor, filter)
      const rows = await client.audit.findMany({
        where: {
          ...given({ actorId, actorKind }),
          ...(action && {
            action: action.endsWith('*') ? startingWith(dialect, action.slice(0, -1)) : action,
          }),
          at: given({ gte: from, lt: to, lte: last?.created }),
          // Of the last page's time only what comes after its last entry.
          ...(last && { OR: [{ at: { lt: last.created } }, { id: { lt: last.id } }] }),
        },
        orderBy: [{ at: 'desc' }, { id: 'desc' }],
        take: limit + 1,
      })
      const items = rows.slice(0, limit).map(({ actorId: id, actorName: name, actorKind: kind, ...row }) => ({
        ...row,
        actor: { id, name, kind },
      }))
      const end = rows.length > limit ? items.at(-1) : undefined
      return { items, nextCursor: end ? encodeCursor({ created: end.at, id: end.id }, filter) : null }
    },

    /** Removes the oldest, one batch per call; returns how many. */
    async prune(rule: {
      readonly before: Date
      /** Only these; all when absent. */
      readonly actions?: readonly string[] | undefined
      /** 1,000 */
      readonly limit?: number | undefined
    }): Promise<number> {
      const { before, actions, limit = 1_000 } = rule
      const oldest = await client.audit.findMany({
        where: { at: { lt: before }, ...(actions && { action: { in: [...actions] } }) },
        orderBy: [{ at: 'asc' }, { id: 'asc' }],
        take: limit,
        select: { id: true },
      })
      const { count } = await client.audit.deleteMany({ where: { id: { in: oldest.map(({ id }) => id) } } })
      return count
    },
  }
}

/** Prisma's startsWith is LIKE, which on SQLite ignores case and has no escape. There, texts sort by their bytes. */
function startingWith(dialect: Context['dialect'], prefix: string) {
  if (dialect === 'sqlite') return { gte: prefix, lt: `${prefix}\u{10ffff}` }
  return { startsWith: prefix.replace(/[\\%_]/g, '\\$&') }
}
