import { OncueError } from '@oncue/core'
import type { FastifyRequest } from 'fastify'

type Fields = Record<string, unknown>

/** What a request says, as one object: the body, or the query; and the path. */
export function fieldsOf(request: FastifyRequest, takesKey: boolean): unknown {
  const params = request.params as Fields
  const given = request.method === 'POST' ? request.body : withMeta(request.query as Fields)
  // Not an object, so there is nothing to add to; whoever checks it says so.
  if (given !== undefined && given !== null && !isObject(given)) return given
  const header = takesKey ? keyOf(request) : {}
  const fields: Fields = { ...given }
  for (const [name, value] of Object.entries({ ...params, ...header })) {
    if (fields[name] !== undefined && fields[name] !== value)
      throw new OncueError('INVALID_INPUT', `input.${name}: is given twice`)
    fields[name] = value
  }
  return fields
}

const isObject = (value: unknown): value is Fields => typeof value === 'object' && !Array.isArray(value)

function keyOf({ headers }: FastifyRequest): Fields {
  const key = headers['idempotency-key']
  return key === undefined ? {} : { idempotencyKey: key }
}

const META = 'meta.'

/** `meta.agent_id=a1` → `meta: { agent_id: 'a1' }` */
function withMeta(query: Fields): Fields {
  const entries = Object.entries(query)
  const meta = entries.filter(([name]) => name.startsWith(META))
  if (meta.length === 0) return query
  const values = meta.map(([name, value]) => [name.slice(META.length), scalarOf(value)])
  return {
    ...Object.fromEntries(entries.filter(([name]) => !name.startsWith(META))),
    meta: Object.fromEntries(values),
  }
}

/** A query has only texts. What reads as a number or a boolean is one, unless it is quoted. */
function scalarOf(value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (value === 'true' || value === 'false') return value === 'true'
  if (/^".*"$/s.test(value)) return value.slice(1, -1)
  return value !== '' && String(Number(value)) === value ? Number(value) : value
}
