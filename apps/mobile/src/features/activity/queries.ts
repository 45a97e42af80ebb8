import type { Inputs, Outputs } from '@oncue/sdk'
import type { PagedRead } from '../../lib/api.tsx'

export type Entry = Outputs['audit']['list']['items'][number]

export interface ActivityFilter {
  /** The noun of the actions: `queues`. */
  readonly group?: string | undefined
  readonly actor?: Pick<Entry['actor'], 'id' | 'name'> | undefined
}

export const activity = ({ group, actor }: ActivityFilter): PagedRead<Entry> => {
  const filter: Inputs['audit']['list'] = {
    ...(group !== undefined && { action: `${group}.*` }),
    ...(actor && { actorId: actor.id }),
  }
  return {
    key: ['audit.list', filter],
    call: (client, { cursor, signal }) =>
      client.audit.list({ ...filter, ...(cursor !== undefined && { cursor }) }, { signal }),
    everyMs: 30_000,
  }
}
