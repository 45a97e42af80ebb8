import { assertText } from '@oncue/core/internal'
import type { Audit } from '../generated/sqlite/client.ts'
import type { AuditEntry, AuditFilter, AuditPage } from '../portable/audit.ts'
import { assertDate } from '../portable/reads/filter.ts'
import { type Context, given } from './client.ts'
import { type Cursored, type Pruned, readPage } from './page.ts'

/** Who did what, to be read and pruned. The Store appends. */
export type AuditControl = ReturnType<typeof createAudit>

export function createAudit({ client, dialect }: Context) {
  return {
    async list(filter: AuditFilter = {}, page: Cursored = {}): Promise<AuditPage> {
      const { actorId, actorKind, action, from, to } = filter
      for (const [name, text] of Object.entries({ actorId, actorKind, action }))
        if (text !== undefined) assertText(text, name)
      for (const [name, date] of Object.entries({ from, to })) if (date) assertDate(date, name)
      return readPage(
        filter,
        page,
        toEntry,
        ({ at }) => at,
        (after, take) =>
          client.audit.findMany({
            where: {
              ...given({ actorId, actorKind }),
              ...(action && {
                action: action.endsWith('*') ? startingWith(dialect, action.slice(0, -1)) : action,
              }),
              at: given({ gte: from, lt: to, lte: after?.created }),
              // Of the entries with the last page's time, only those after its last entry.
              ...(after && { OR: [{ at: { lt: after.created } }, { id: { lt: after.id } }] }),
            },
            orderBy: [{ at: 'desc' }, { id: 'desc' }],
            take,
          }),
      )
    },

    /** Removes the oldest, of these actions or of all, one batch per call; returns how many. */
    async prune(rule: Pruned & { readonly actions?: readonly string[] | undefined }): Promise<number> {
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

function toEntry({ actorId: id, actorName: name, actorKind: kind, ...row }: Audit): AuditEntry {
  return { ...row, actor: { id, name, kind } }
}

/** Prisma's startsWith is LIKE, which on SQLite ignores case and has no escape. There, texts sort by their bytes. */
function startingWith(dialect: Context['dialect'], prefix: string) {
  if (dialect === 'sqlite') return { gte: prefix, lt: `${prefix}\u{10ffff}` }
  return { startsWith: prefix.replace(/[\\%_]/g, '\\$&') }
}
