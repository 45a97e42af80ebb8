import type { Inputs, Outputs } from '@oncue/sdk'
import type { PagedRead, Read } from '../../lib/api.tsx'

export type Alert = Outputs['alerts']['get']
export type Rule = Outputs['alerts']['rules'][number]
export type NewRule = Inputs['alerts']['createRule']
export type NewChannel = Inputs['channels']['create']
export type Channel = Outputs['channels']['list'][number]

const EVERY_MS = 5_000

/** Alerts that are not resolved: firing, acknowledged or snoozed. */
export const openAlerts: Read<Outputs['alerts']['list']> = {
  key: ['alerts.list', 'open'],
  call: (client, options) => client.alerts.list({ state: 'open', limit: 200 }, options),
  everyMs: EVERY_MS,
}

export const resolvedAlerts: PagedRead<Alert> = {
  key: ['alerts.list', 'resolved'],
  call: (client, { cursor, signal }) =>
    client.alerts.list({ state: 'resolved', ...(cursor !== undefined && { cursor }) }, { signal }),
}

export const oneAlert = (id: string): Read<Alert> => ({
  key: ['alerts.get', id],
  call: (client, options) => client.alerts.get({ id }, options),
  everyMs: EVERY_MS,
})

export const alertRules: Read<Rule[]> = {
  key: ['alerts.rules'],
  call: (client, options) => client.alerts.rules(undefined, options),
}

export const topicNames: Read<string[]> = {
  key: ['topics.list'],
  call: async (client, options) => (await client.topics.list(undefined, options)).map(({ topic }) => topic),
}

export const channelList: Read<Channel[]> = {
  key: ['channels.list'],
  call: (client, options) => client.channels.list(undefined, options),
  everyMs: 30_000,
}
