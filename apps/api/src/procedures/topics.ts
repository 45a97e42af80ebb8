import { announcedTopicSchema } from '@oncue/core/wire'
import { z } from 'zod'
import { reading } from './procedure.ts'

export const list = reading({
  name: 'topics.list',
  access: 'read',
  input: z.undefined(),
  output: z.array(announcedTopicSchema),
  async run({ store }) {
    const [topics, clashes] = await Promise.all([store.topics(), store.topicClashes()])
    const sides = new Map(clashes.map((clash) => [clash.topic, clash.sides]))
    return topics.map((topic) => ({
      ...topic,
      clash:
        sides.get(topic.topic)?.map(({ services, workers }) => ({
          services: [...services],
          workers: workers.length,
        })) ?? null,
    }))
  },
})
