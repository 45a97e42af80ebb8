import { healthSchema, resumeRequestSchema } from '@oncue/core/wire'
import { z } from 'zod'
import { restBody, restObject } from '../http/rest/shapes.ts'
import { query, subscription } from './procedure.ts'

export const health = {
  get: query({
    access: 'read',
    input: z.undefined(),
    output: healthSchema,
    run: ({ live }) => live.health.get(),
    rest: [
      {
        at: 'GET /api/health',
        summary: 'Read the state of the whole installation',
        toInput: () => undefined,
        responses: { 200: restObject(healthSchema) },
        respond: (health) => ({ status: 200, body: restBody(healthSchema, health) }),
      },
    ],
  }),

  /** Each message is the whole picture, so a client that reconnects starts with the next one. */
  watch: subscription({
    access: 'read',
    input: resumeRequestSchema,
    output: healthSchema,
    async *watch({ live }, _, signal) {
      for await (const message of live.health.watch(signal))
        yield { id: String(message.now.getTime()), message }
    },
  }),
}
