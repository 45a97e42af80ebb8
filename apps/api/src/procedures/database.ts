import { databaseSchema } from '@oncue/core/wire'
import { z } from 'zod'
import { restBody, restObject } from '../http/rest/shapes.ts'
import { query } from './procedure.ts'

export const database = {
  get: query({
    // It names hosts, files and sessions of the database.
    access: 'act',
    input: z.undefined(),
    output: databaseSchema,
    run: async ({ database }) => {
      const look = await database.look()
      return { ...look, findings: [...look.findings] }
    },
    rest: [
      {
        at: 'GET /api/database',
        summary: 'Check the database: size, connections, oldest transaction, dead rows, plans',
        toInput: () => undefined,
        responses: {
          200: restObject(databaseSchema),
        },
        errors: ['DATABASE_BUSY'],
        respond: (look) => ({ status: 200, body: restBody(databaseSchema, look) }),
      },
    ],
  }),
}
