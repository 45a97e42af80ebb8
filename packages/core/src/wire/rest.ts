import { z } from 'zod'
import { bulkOperationRequestSchema, previewRequestSchema } from './bulk-operations.ts'
import { enqueueItemSchema, enqueueRequestSchema } from './enqueue.ts'
import { timeSchema } from './fields.ts'
import { plainBatchRequestSchema, plainFlowRequestSchema } from './flow.ts'
import { actedFilterSchema, jobFilterSchema } from './jobs.ts'

/** `runAt` → `run_at`: REST uses snake_case, TypeScript camelCase. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name

function snakeCase<Name extends string>(name: Name): SnakeCase<Name> {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as SnakeCase<Name>
}

/** JSON has no dates. An offset is required: a time without one means something else on every machine. */
export const isoDateSchema = z.iso
  .datetime({
    offset: true,
    error: 'must be an ISO 8601 time with Z or an offset, such as 2026-01-08T12:00:00Z',
  })
  .transform((text) => new Date(text))

/** A request as REST takes it: dates are texts (`texts` has those fields), and each name may be camelCase or snake_case. */
function asRest<Request extends z.ZodObject>(
  request: Request,
  texts: z.ZodRawShape,
  documented: 'camelCase' | 'snake_case' = 'camelCase',
) {
  const fields = { ...request.shape, ...texts } as Record<string, z.ZodType>
  const aliased = Object.keys(fields).filter((name) => snakeCase(name) !== name)
  const given = Object.fromEntries(
    aliased.flatMap((name) => {
      const field = mayBeMissing(fields[name] ?? z.never())
      const names = [name, snakeCase(name)] as const
      const [main, other] = documented === 'camelCase' ? names : names.toReversed()
      return [
        [main, field],
        [other, field.describe(`the same as ${main}`)],
      ]
    }),
  )
  // Each field of the result has passed its own schema of `request`, so it is not checked again.
  return z.strictObject({ ...fields, ...given }).transform((found, ctx): z.output<Request> => {
    const values: Record<string, unknown> = { ...found }
    for (const name of aliased) {
      const alias = snakeCase(name)
      if (values[alias] !== undefined) {
        if (values[name] !== undefined)
          ctx.addIssue({ code: 'custom', path: [alias], message: `is also given as ${name}` })
        values[name] = values[alias]
      }
      delete values[alias]
      if (values[name] !== undefined) continue
      const missing = fields[name]?.safeParse(undefined)
      if (missing?.data !== undefined) values[name] = missing.data
      for (const { message } of missing?.error?.issues ?? [])
        ctx.addIssue({ code: 'custom', path: [name], message })
    }
    return values as z.output<Request>
  })
}

/** The field may be given under its other name. */
function mayBeMissing(field: z.ZodType): z.ZodType {
  const { description } = field
  const inner = field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field
  const optional = inner.optional()
  return description === undefined ? optional : optional.describe(description)
}

const runAt = isoDateSchema.pipe(enqueueRequestSchema.shape.runAt.unwrap()).optional()
export const restEnqueueRequestSchema = asRest(enqueueRequestSchema, { runAt })
export const restEnqueueItemSchema = asRest(enqueueItemSchema, { runAt })

const batch = plainBatchRequestSchema.shape
export const restBatchRequestSchema = asRest(plainBatchRequestSchema, {
  jobs: z
    .array(restEnqueueRequestSchema)
    .min(1)
    .describe('at most 10,000, each as in POST /api/jobs/enqueue'),
  // biome-ignore lint/suspicious/noThenProperty: it is no function, so no promise takes it for one
  then: asRest(batch.then.unwrap(), { runAt })
    .optional()
    .describe(batch.then.description ?? ''),
  onFailure: asRest(batch.onFailure.unwrap(), { runAt })
    .optional()
    .describe(batch.onFailure.description ?? ''),
})
export const restFlowRequestSchema = asRest(plainFlowRequestSchema, {
  nodes: z
    .record(z.string(), restEnqueueRequestSchema)
    .describe('by name, at most 1,000; each as in POST /api/jobs/enqueue'),
})

const restTimeSchema = isoDateSchema.pipe(timeSchema)
const times = { createdFrom: restTimeSchema.optional(), createdTo: restTimeSchema.optional() }
const filter = asRest(jobFilterSchema, times, 'snake_case').pipe(actedFilterSchema)

export const restPreviewRequestSchema = asRest(previewRequestSchema, {
  filter,
  asOf: restTimeSchema.optional().describe('default: now'),
})
const canary = asRest(bulkOperationRequestSchema.shape.canary.unwrap(), {}, 'snake_case')
export const restBulkOperationRequestSchema = asRest(bulkOperationRequestSchema, {
  filter,
  canary: canary
    .optional()
    .describe(
      'do these first: go on by itself when they complete, stop when more than max_failed fail again',
    ),
  asOf: restTimeSchema.describe('asOf of the preview: jobs that match later are left alone'),
})

export const statsResponseSchema = z.object({
  pending: z.int(),
  processing: z.int(),
  completed: z.int(),
  failed: z.int(),
  success_rate: z
    .number()
    .describe('completed / (completed + failed), from 0 to 1; 1 before the first job has finished'),
  avg_execution_time: z.number().describe('milliseconds'),
})

/** A response in REST's form: snake_case names, except those that users chose; JSON makes the dates ISO texts. */
type Rest<From extends object> = {
  [Name in keyof From & string as SnakeCase<Name>]: From[Name]
}

export function toRest<From extends object>(value: From): Rest<From> {
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [snakeCase(name), field]),
  ) as Rest<From>
}
