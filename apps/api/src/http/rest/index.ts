import { OncueError } from '@oncue/core'
import type { JobGlance } from '@oncue/db'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ApiContext, Services } from '../../context.ts'
import { Batcher } from '../../enqueue/batcher.ts'
import { authorize, perform } from '../../procedures/procedure.ts'
import { limitBody } from '../body.ts'
import { registerDocs } from './docs.ts'
import { openApiDocument } from './openapi.ts'
import type { ResponseTools } from './route.ts'
import { ROUTES } from './routes.ts'

/** REST, its OpenAPI document and the page to try it. */
export async function registerRest(app: FastifyInstance, services: Services, basePath = ''): Promise<void> {
  const glances = new Batcher<string, JobGlance | undefined>(
    async (ids) => {
      const seen = await services.store.glance(ids)
      return ids.map((id) => seen.get(id))
    },
    { maxItems: 500, maxAtOnce: 2 },
  )

  for (const { method, path, procedure, input, refuse, respond, ...route } of ROUTES) {
    app.route<{ Params: Record<string, string> }>({
      method,
      url: path,
      // A caller without access is refused before the body is read.
      async onRequest(request) {
        await authorize(request.api, procedure.access)
        limitBody(request as FastifyRequest, [procedure])
      },
      handler: async (request, reply) => {
        const { params, body: given } = request
        const tools: ResponseTools = { params, body: given, glance: (id) => glances.add(id) }
        const checked = {
          ...procedure,
          input,
          async run(ctx: ApiContext, given: unknown) {
            const output = await procedure.run(ctx, given)
            await refuse?.(output, tools)
            return output
          },
        }
        const output = await perform(request.api, checked, fieldsOf(request, route))
        const { status, body } = await respond(output, tools)
        return reply.status(status).send(body)
      },
    })
  }

  const document = { ...openApiDocument(), servers: [{ url: `${basePath}/` }] }
  app.get('/openapi.json', async () => document)
  await registerDocs(app, document, basePath)
}

type Fields = Record<string, unknown>

/** The fields of a request in one object: those of the body or the query, and of the path. */
function fieldsOf(
  request: FastifyRequest,
  {
    idempotent: keyField,
    bodyField,
  }: { readonly idempotent: string | undefined; readonly bodyField: string | undefined },
): unknown {
  const params = request.params as Fields
  // Ignoring the query would silently drop options.
  if (request.method === 'POST' && Object.keys(request.query as Fields).length > 0)
    throw new OncueError('INVALID_INPUT', 'this request takes its fields in a JSON body, and no query')
  const body = bodyField === undefined ? request.body : { [bodyField]: request.body }
  const given = request.method === 'POST' ? body : withMeta(request.query as Fields)
  // The schema refuses a body that is no object.
  if (given !== undefined && given !== null && !isObject(given)) return given
  const header = keyField === undefined ? {} : keyOf(request, keyField)
  const fields: Fields = { ...given }
  for (const [name, value] of Object.entries({ ...params, ...header })) {
    if (fields[name] !== undefined && fields[name] !== value)
      throw new OncueError('INVALID_INPUT', `input.${name}: must not be given twice`)
    fields[name] = value
  }
  return fields
}

const isObject = (value: unknown): value is Fields => typeof value === 'object' && !Array.isArray(value)

function keyOf({ headers }: FastifyRequest, field: string): Fields {
  const key = headers['idempotency-key']
  return key === undefined ? {} : { [field]: key }
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
