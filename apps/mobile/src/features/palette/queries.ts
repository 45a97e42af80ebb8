import type { Read } from '../../lib/api.tsx'

interface Found {
  readonly id: string
  readonly topic: string
  readonly queue: string
}

const MOST = 5

/** Jobs by the last digits of their id, as rows show them. */
export const jobsEndingWith = (idSuffix: string, enabled: boolean): Read<readonly Found[]> => ({
  key: ['jobs.list', 'ending', idSuffix],
  call: async (client, options) => {
    const { items } = await client.jobs.list({ idSuffix, limit: MOST }, options)
    return items.map(({ id, topic, queue }) => ({ id, topic, queue }))
  },
  enabled,
  isFixed: true,
})
