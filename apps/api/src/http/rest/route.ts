import type { ErrorCode, JobId } from '@oncue/core'
import type { JobGlance } from '@oncue/db'
import type { z } from 'zod'

/** What a response may need beside the output of its procedure. */
export interface ResponseTools {
  /** Of the path. */
  readonly params: Readonly<Record<string, string>>
  readonly body: unknown
  glance(id: JobId): Promise<JobGlance | undefined>
}

interface RestResponse {
  readonly status: number
  /** JSON of this shape; none: a response without a body. */
  readonly body?: unknown
}

export type Method = 'GET' | 'POST' | 'DELETE'

export type KeyField = 'idempotencyKey' | 'key'

/** How a procedure looks over plain HTTP. */
export interface RestRoute<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> {
  /** `POST /api/jobs/:id/requeue` */
  readonly at: `${Method} /${string}`
  /** Its line in the OpenAPI document. */
  readonly summary: string
  /** Fields of the path. */
  readonly params?: Readonly<Record<string, z.ZodType>>
  /** Fields that a JSON body may have, where `body` is not given. */
  readonly fields?: Readonly<Record<string, z.ZodType>>
  /** The field that is the whole JSON body, of any kind. */
  readonly bodyField?: string
  /** Fields of the query, where there is no body. */
  readonly query?: Readonly<Record<string, z.ZodType>>
  /** How the fields are called and put together in the procedure's input. Default: as they are. */
  readonly toInput?: (fields: Record<string, unknown>) => unknown
  /** Gives the procedure's input. */
  readonly body?: z.ZodType<z.output<Input>>
  /** A body that works. */
  readonly example?: unknown
  /** Takes the header `Idempotency-Key` as this field. */
  readonly idempotent?: KeyField
  /** By status; null: no body. */
  readonly responses: Readonly<Record<number, z.ZodType | null>>
  /** Beside those that any route may return. */
  readonly errors?: readonly ErrorCode[]
  /** Throws for an output that means failure, before an audit entry is written. */
  readonly refuse?: (output: z.input<Output>, tools: ResponseTools) => Promise<void>
  readonly respond: (output: z.output<Output>, tools: ResponseTools) => RestResponse | Promise<RestResponse>
}
