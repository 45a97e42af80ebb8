import { auditPageSchema, auditRequestSchema } from '@oncue/core'
import { reading } from '../operation.ts'

export const list = reading({
  name: 'audit.list',
  // Who is on call must see what the others did; addresses and names of colleagues are no secret among them.
  access: 'act',
  input: auditRequestSchema.default({ limit: 50 }),
  output: auditPageSchema,
  run: ({ store }, { limit, cursor, ...filter }) => store.audit.list(filter, { limit, cursor }),
})
