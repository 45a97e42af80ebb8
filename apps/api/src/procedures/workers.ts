import { workerSchema } from '@oncue/core/wire'
import { z } from 'zod'
import { reading } from './procedure.ts'

export const list = reading({
  name: 'workers.list',
  access: 'read',
  input: z.undefined(),
  output: z.array(workerSchema),
  run: async ({ store }) =>
    (await store.workers()).map(({ queues, ...worker }) => ({ ...worker, queues: [...queues] })),
})
