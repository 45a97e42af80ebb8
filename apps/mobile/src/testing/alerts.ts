import type { Outputs } from '@oncue/sdk'
import { NOW } from './health.ts'

type Alert = Outputs['alerts']['get']
type Rule = Outputs['alerts']['rules'][number]
type Channel = Outputs['channels']['list'][number]

export const minutesAgo = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000)

/** A valid UUID for a small number: some code accepts nothing else. */
const idOf = (n: number) => `0199a000-0000-7000-8000-${String(n).padStart(12, '0')}`

/** An unacknowledged alert: `mail` has been late for twelve minutes. */
export function alertOf(n: number, differs: Partial<Alert> = {}): Alert {
  return {
    ...{ id: idOf(n), ruleId: 'late', kind: 'oldest_waiting', queue: 'mail', state: 'firing' },
    ...{ groupId: idOf(n), queues: ['mail'], topic: null, fingerprint: null },
    ...{ summary: 'mail: oldest job waits 12 min (limit 5 min)', value: 720, threshold: 300 },
    ...{ firedAt: minutesAgo(12), acked: null, snoozed: null, resolvedAt: null, updated: NOW },
    ...differs,
  }
}

export function ruleOf(id: string, differs: Partial<Rule> = {}): Rule {
  return {
    ...{ id, name: 'Jobs wait too long', kind: 'oldest_waiting', queue: null, threshold: 300 },
    ...{ topic: null, forSeconds: 60, enabled: true, builtIn: 'oldest_waiting', updatedBy: null },
    ...{ created: minutesAgo(9_000), updated: minutesAgo(9_000) },
    ...differs,
  }
}

export function channelOf(id: string, differs: Partial<Channel> = {}): Channel {
  return {
    ...{ id, kind: 'webhook', name: 'pager', address: 'https://example.com/oncue', deviceId: null },
    ...{ enabled: true, created: minutesAgo(9_000), createdBy: 'ada', lastAttempt: minutesAgo(4) },
    ...{ lastDelivered: minutesAgo(4), lastError: null, failingSince: null },
    ...differs,
  }
}
