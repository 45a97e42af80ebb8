import { announcedTopicSchema } from '@oncue/core'
import { z } from 'zod'
import { reading } from '../operation.ts'

export const list = reading({
  name: 'topics.list',
  access: 'read',
  input: z.undefined(),
  output: z.array(announcedTopicSchema),
  run: ({ store }) => store.topics(),
})
