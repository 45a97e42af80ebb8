import type { JobGlance } from '@oncue/db'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ApiContext, Services } from '../../context.ts'
import { Batcher } from '../../enqueue/batcher.ts'
import { authorize, perform } from '../../procedures/procedure.ts'
import { limitBody } from '../body.ts'
import { registerDocs } from './docs.ts'
import { openApiDocument } from './openapi.ts'
import { fieldsOf } from './request.ts'
import type { ResponseTools } from './route.ts'
import { ROUTES } from './routes.ts'

/** REST, its document and the page to try it. */
export async function registerRest(app: FastifyInstance, services: Services): Promise<void> {
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
        const output = await perform(request.api, checked, fieldsOf(request, route.idempotent))
        const { status, body } = await respond(output, tools)
        return reply.status(status).send(body)
      },
    })
  }

  const document = openApiDocument()
  app.get('/openapi.json', async () => document)
  await registerDocs(app, document)
}
