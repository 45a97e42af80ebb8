import { workerSchema } from '@oncue/core/wire'
import { z } from 'zod'
import { listRoute } from '../http/rest/shapes.ts'
import { query } from './procedure.ts'

export const workers = {
  list: query({
    access: 'read',
    input: z.undefined(),
    output: z.array(workerSchema),
    run: async ({ store }) =>
      (await store.workers()).map(({ queues, ...worker }) => ({ ...worker, queues: [...queues] })),
    rest: [listRoute('GET /api/workers', 'List live and missing workers', workerSchema)],
  }),
}
