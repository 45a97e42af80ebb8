import { z } from 'zod'
import type { Mutation, Named, Query } from '../../procedures/procedure.ts'
import { SUBJECTS } from '../../procedures/table.ts'
import type { KeyField, Method, RestRoute } from './route.ts'

/** A route that a procedure declares, with what follows from its declaration. */
export interface Route
  extends Required<Pick<RestRoute, 'summary' | 'params' | 'fields' | 'query' | 'responses' | 'errors'>> {
  readonly method: Method
  /** As fastify writes it: `/api/jobs/:id`. */
  readonly path: string
  readonly procedure: Named<Query | Mutation>
  readonly body: z.ZodType | null
  readonly example: unknown
  readonly idempotent: KeyField | undefined
  readonly bodyField: string | undefined
  /** From the fields of path and query, or the body, to the input of the procedure. */
  readonly input: z.ZodType
  readonly refuse: RestRoute['refuse']
  readonly respond: RestRoute['respond']
}

/** Everything that REST offers: the server, the OpenAPI document and the tests are made from this table. */
export const ROUTES: readonly Route[] = SUBJECTS.flatMap((procedures) => {
  const routes = procedures.flatMap((procedure) =>
    procedure.kind === 'subscription'
      ? []
      : (procedure.rest ?? []).map((route, index) => ({ index, route: toRoute(procedure, route) })),
  )
  // The aliases of a subject come after its main routes.
  return routes.sort((a, b) => a.index - b.index).map(({ route }) => route)
})

function toRoute(procedure: Named<Query | Mutation>, declared: RestRoute): Route {
  const {
    at,
    params = {},
    fields: optional = {},
    query = {},
    body = null,
    toInput = (fields) => fields,
    ...same
  } = declared
  const [method, path] = at.split(' ') as [Method, string]
  const fields = z.strictObject({ ...params, ...optional, ...query })
  return {
    example: undefined,
    idempotent: undefined,
    bodyField: undefined,
    errors: [],
    refuse: undefined,
    ...same,
    method,
    path,
    procedure,
    params,
    fields: optional,
    query,
    body,
    input: body ?? inputOf(fields, toInput, procedure.input),
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
