import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'

export type Topic = Outputs['topics']['list'][number]

export const topicList: Read<Topic[]> = {
  key: ['topics.list'],
  call: (client, options) => client.topics.list(undefined, options),
  everyMs: 30_000,
}
