import { OncueError } from '@oncue/core'
import {
  listWorkersRequestSchema,
  workerDetailsSchema,
  workerRequestSchema,
  workerSchema,
} from '@oncue/core/wire'
import { z } from 'zod'
import { restBody, restObject } from '../http/rest/shapes.ts'
import { query } from './procedure.ts'

export const workers = {
  list: query({
    access: 'read',
    input: listWorkersRequestSchema.optional(),
    output: z.array(workerSchema),
    run: async ({ store }, input) =>
      (await store.workers(input)).map(({ queues, ...worker }) => ({ ...worker, queues: [...queues] })),
    rest: [
      {
        at: 'GET /api/workers',
        summary: 'List live and missing workers, and with `ended` those that stopped or were lost',
        query: { ended: z.stringbool().optional() },
        responses: { 200: z.object({ items: z.array(restObject(workerSchema)) }) },
        respond: (items) => ({
          status: 200,
          body: { items: items.map((worker) => restBody(workerSchema, worker)) },
        }),
      },
    ],
  }),

  get: query({
    access: 'read',
    input: workerRequestSchema,
    output: workerDetailsSchema,
    async run({ store }, { id }) {
      const worker = await store.worker(id)
      if (!worker) throw new OncueError('WORKER_NOT_FOUND', `There is no worker ${id}`)
      return worker
    },
    rest: [
      {
        at: 'GET /api/workers/:id',
        summary: 'Read a worker with what runs on it, or what it held when it was lost',
        params: workerRequestSchema.shape,
        responses: { 200: restObject(workerDetailsSchema) },
        errors: ['WORKER_NOT_FOUND'],
        respond: (worker) => ({ status: 200, body: restBody(workerDetailsSchema, worker) }),
      },
    ],
  }),
}
