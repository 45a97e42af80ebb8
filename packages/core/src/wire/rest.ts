import { z } from 'zod'
import { enqueueItemSchema, enqueueRequestSchema } from './enqueue.ts'

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

/** A request to enqueue as REST takes it: dates are texts, and each name may be camelCase or snake_case. */
function asRest<Request extends typeof enqueueRequestSchema>(request: Request) {
  const { runAt } = request.shape
  const fields: z.ZodRawShape = { ...request.shape, runAt: isoDateSchema.pipe(runAt.unwrap()).optional() }
  const aliases = Object.entries(fields).flatMap(([name, schema]) =>
    snakeCase(name) === name
      ? []
      : [[snakeCase(name), (schema as z.ZodType).describe(`the same as ${name}`)]],
  )
  // What comes out has passed the schemas of `request`, each field by its own: it is not checked again.
  return z
    .strictObject({ ...fields, ...Object.fromEntries(aliases) })
    .transform((given, ctx): z.output<Request> => {
      const values: Record<string, unknown> = { ...given }
      for (const name of Object.keys(fields)) {
        const alias = snakeCase(name)
        if (alias === name || values[alias] === undefined) continue
        if (values[name] !== undefined) {
          ctx.addIssue({ code: 'custom', path: [alias], message: `is also given as ${name}` })
        }
        values[name] = values[alias]
        delete values[alias]
      }
      return values as z.output<Request>
    })
}

export const restEnqueueRequestSchema = asRest(enqueueRequestSchema)
export const restEnqueueItemSchema = asRest(enqueueItemSchema)

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

/** As REST returns it: snake_case names, except those that users chose; JSON makes the dates ISO texts. */
type Rest<From extends object> = {
  [Name in keyof From & string as SnakeCase<Name>]: From[Name]
}

export function toRest<From extends object>(value: From): Rest<From> {
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [snakeCase(name), field]),
  ) as Rest<From>
}
