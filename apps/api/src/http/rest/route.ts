import type { ErrorCode, JobId } from '@oncue/core'
import type { JobGlance } from '@oncue/db'
import { z } from 'zod'
import type { Operation } from '../../procedures/procedure.ts'

/** What an answer may need beside the output of its operation. */
export interface AnswerTools {
  /** Of the path. */
  readonly params: Readonly<Record<string, string>>
  readonly body: unknown
  glance(id: JobId): Promise<JobGlance | undefined>
}

interface Answer {
  readonly status: number
  /** JSON of this shape; none: an answer without a body. */
  readonly body?: unknown
}

/** One line of the table: how an operation looks over plain HTTP. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** As fastify writes it: `/api/jobs/:id`. */
  readonly path: string
  readonly summary: string
  readonly operation: Operation
  /** Fields of the query. */
  readonly query: Readonly<Record<string, z.ZodType>>
  readonly body: z.ZodType | null
  readonly example: unknown
  /** Takes the header `Idempotency-Key` as the field `idempotencyKey`. */
  readonly idempotent: boolean
  /** From the fields of path and query, or the body, to the input of the operation. */
  readonly input: z.ZodType
  /** By status; null: no body. */
  readonly responses: Readonly<Record<number, z.ZodType | null>>
  /** Beside those that any route may answer with. */
  readonly errors: readonly ErrorCode[]
  /** Refuses an output that means failure, before anything is noted. */
  readonly refuse: (output: unknown, tools: AnswerTools) => Promise<void>
  readonly answer: (output: unknown, tools: AnswerTools) => Promise<Answer>
}

interface Definition<Input extends z.ZodType, Output extends z.ZodType>
  extends Pick<Route, 'summary' | 'responses'> {
  /** `POST /api/jobs/:id/requeue` */
  readonly at: `${Route['method']} /${string}`
  readonly operation: Operation<Input, Output>
  /** The path's and the query's fields; for a POST, those of the path alone. */
  readonly params?: Readonly<Record<string, z.ZodType>>
  readonly query?: Readonly<Record<string, z.ZodType>>
  /** Gives the input of the operation. */
  readonly body?: z.ZodType<z.output<Input>>
  /** A body that works. */
  readonly example?: unknown
  readonly idempotent?: boolean
  /** How the fields are called and put together in the operation. */
  readonly toInput?: (fields: Record<string, unknown>) => unknown
  readonly errors?: readonly ErrorCode[]
  readonly refuse?: (output: z.input<Output>, tools: AnswerTools) => Promise<void>
  readonly answer: (output: z.input<Output>, tools: AnswerTools) => Answer | Promise<Answer>
}

export function route<Input extends z.ZodType, Output extends z.ZodType>(
  definition: Definition<Input, Output>,
): Route {
  const {
    at,
    operation,
    params = {},
    query = {},
    body,
    toInput = (given) => given,
    refuse,
    answer,
    ...same
  } = definition
  const [method, path] = at.split(' ') as [Route['method'], string]
  const fields = z.strictObject({ ...params, ...query })
  return {
    example: undefined,
    idempotent: false,
    errors: [],
    ...same,
    method,
    path,
    // The table does not tell its operations apart; each has its own types, which are checked here.
    operation: operation as unknown as Operation,
    query,
    body: body ?? null,
    input: body ?? inputOf(fields, toInput, operation.input),
    refuse: async (output, tools) => refuse?.(output as z.input<Output>, tools),
    answer: async (output, tools) => answer(output as z.input<Output>, tools),
  }
}

/** No pipe: a union at its end would forget that the fields before it were wrong. */
function inputOf(
  fields: z.ZodObject,
  toInput: (given: Record<string, unknown>) => unknown,
  input: z.ZodType,
): z.ZodType {
  return fields.transform((given, ctx) => {
    const parsed = input.safeParse(toInput(given))
    if (parsed.success) return parsed.data
    for (const { message, path } of parsed.error.issues) ctx.addIssue({ code: 'custom', message, path })
    return z.NEVER
  })
}
