import { auditPageSchema, auditRequestSchema } from '@oncue/core'
import { reading } from '../operation.ts'
import { maskerOf } from './masker.ts'

export const list = reading({
  name: 'audit.list',
  // Who is on call must see what the others did; addresses and names of colleagues are no secret among them.
  access: 'act',
  input: auditRequestSchema.default({ limit: 50 }),
  output: auditPageSchema,
  async run(ctx, { limit, cursor, ...filter }) {
    const { items, nextCursor } = await ctx.store.audit.list(filter, { limit, cursor })
    // A filter that somebody acted by may name what others are not to see.
    const mask = await maskerOf(ctx)
    return { items: items.map((entry) => mask(entry, ['target']).value), nextCursor }
  },
})
