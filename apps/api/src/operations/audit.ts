import { auditPageSchema, auditRequestSchema } from '@oncue/core'
import { reading } from '../operation.ts'

export const list = reading({
  name: 'audit.list',
  access: 'admin',
  input: auditRequestSchema.default({ limit: 50 }),
  output: auditPageSchema,
  run: ({ store }, { limit, cursor, ...filter }) => store.audit.list(filter, { limit, cursor }),
})
