import { announcedTopicSchema } from '@oncue/core/wire'
import { z } from 'zod'
import { registryOf, registrySchema } from '../http/rest/commands.ts'
import { listRoute } from '../http/rest/shapes.ts'
import { query } from './procedure.ts'

export const topics = {
  list: query({
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
    rest: [
      listRoute(
        'GET /api/topics',
        'List topics that workers announced, with their schemas',
        announcedTopicSchema,
      ),
      {
        at: 'GET /api/commands/registry/debug',
        summary: 'List the commands that workers have announced',
        toInput: () => undefined,
        responses: { 200: registrySchema },
        respond: (announced) => ({ status: 200, body: registryOf(announced.map(({ topic }) => topic)) }),
      },
    ],
  }),
}
