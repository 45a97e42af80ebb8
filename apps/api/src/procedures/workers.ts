import { workerSchema } from '@oncue/core/wire'
import { z } from 'zod'
import { query } from './procedure.ts'

export const workers = {
  list: query({
    access: 'read',
    input: z.undefined(),
    output: z.array(workerSchema),
    run: async ({ store }) =>
      (await store.workers()).map(({ queues, ...worker }) => ({ ...worker, queues: [...queues] })),
  }),
}
