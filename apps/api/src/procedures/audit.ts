import { auditPageSchema, auditRequestSchema } from '@oncue/core/wire'
import { maskerOf, maskFilter } from '../masking/masker.ts'
import type { Mask } from '../masking/masking.ts'
import { showChanges } from '../masking/payload-changes.ts'
import { query } from './procedure.ts'

export const audit = {
  list: query({
    // A person on call must see what colleagues did; their names and addresses are no secret among them.
    access: 'act',
    input: auditRequestSchema.default({ limit: 50 }),
    output: auditPageSchema,
    async run(ctx, { limit, cursor, ...filter }) {
      const { items, nextCursor } = await ctx.control.audit.list(filter, { limit, cursor })
      const mask = await maskerOf(ctx)
      return {
        items: items.map((entry) => ({ ...entry, target: maskTarget(mask, entry.target) })),
        nextCursor,
      }
    },
  }),
}

/** The filter of an action, and the changes of a payload, may have values that are masked for the caller. */
function maskTarget(mask: Mask, given: unknown): unknown {
  const { target } = mask({ target: given }, ['target']).value
  if (typeof target !== 'object' || target === null || Array.isArray(target)) return target
  const { filter, changes } = target as { filter?: unknown; changes?: unknown }
  return {
    ...target,
    ...(typeof filter === 'object' && filter && { filter: maskFilter(mask, filter) }),
    ...(Array.isArray(changes) && { changes: showChanges(mask, changes) }),
  }
}
