import type { Store } from '@oncue/db'

export interface Case {
  readonly name: string
  /** Milliseconds that it may take; null where there is no goal. */
  readonly goal: number | null
  run(store: Store): Promise<unknown>
}

/** Milliseconds at ten million finished jobs. */
export const LIST_MS = 50
export const STATS_MS = 100
const DAY_MS = 86_400_000

const AGENT = { agent_id: 'agent-17' }

const list = (name: string, ...args: Parameters<Store['list']>): Case => ({
  name: `list: ${name}`,
  goal: LIST_MS,
  run: (store) => store.list(...args),
})

export const CASES: readonly Case[] = [
  list('the newest 50', {}),
  list('500', {}, { limit: 500 }),
  list('completed', { status: 'completed' }),
  list('failed', { status: 'failed' }),
  list('pending', { status: 'pending' }),
  list('processing', { status: 'processing' }),
  list('a topic', { topic: 'topic-7' }),
  list('a queue', { queue: 'high' }),
  list('a queue with few jobs', { queue: 'small' }),
  list('a queue and failed', { queue: 'small', status: 'failed' }),
  list('a fingerprint', { fingerprint: 'fault-17', status: 'failed' }),
  list('meta, one in 1 000 jobs', { meta: AGENT }),
  list('… page 2, by offset', { meta: AGENT }, { offset: 50 }),
  list('… which completed, as all did', { meta: AGENT, status: 'completed' }),
  list('… which failed, as none did', { meta: AGENT, status: 'failed' }),
  list('… of a topic that none has', { meta: AGENT, topic: 'topic-7' }),
  list('… with another value, of one in three', { meta: { ...AGENT, tenant: 1 } }),
  list('meta, one in three jobs', { meta: { tenant: 1 } }),
  list('… which failed', { meta: { tenant: 1 }, status: 'failed' }),
  list('meta without a match', { meta: { tenant: 4 } }),
  list('a day', { createdFrom: new Date(Date.now() - 2 * DAY_MS), createdTo: new Date(Date.now() - DAY_MS) }),
  list('offset 1 000', {}, { offset: 1_000 }),
  {
    name: 'list: page 2, by cursor',
    goal: LIST_MS,
    async run(store) {
      const { nextCursor } = await store.list({}, { limit: 1 })
      return store.list({}, { cursor: nextCursor ?? '' })
    },
  },
  {
    name: 'list: an id by its first 10 digits',
    goal: LIST_MS,
    async run(store) {
      const { items } = await store.list({}, { limit: 1 })
      return store.list({ idPrefix: items[0]?.id.slice(0, 11) ?? '' })
    },
  },
  {
    name: 'list: an id by its last 8 digits',
    goal: null,
    async run(store) {
      const { items } = await store.list({}, { limit: 1 })
      return store.list({ idSuffix: items[0]?.id.slice(-8) ?? '' })
    },
  },
  {
    name: 'list: the last 8 digits of no id',
    goal: null,
    run: (store) => store.list({ idSuffix: 'ffffffff' }),
  },
  { name: 'stats', goal: STATS_MS, run: (store) => store.stats() },
  { name: 'stats: a queue', goal: STATS_MS, run: (store) => store.stats({ queue: 'high' }) },
  {
    name: 'failures of the last hour',
    goal: null,
    run: (store) => store.failures({ since: ago(DAY_MS / 24) }),
  },
  { name: 'failures of a day', goal: null, run: (store) => store.failures({ since: ago(DAY_MS) }) },
  {
    name: 'series of an hour',
    goal: null,
    run: (store) => store.series({ from: ago(DAY_MS / 24), to: ago(0) }),
  },
  { name: 'series of a day', goal: null, run: (store) => store.series({ from: ago(DAY_MS), to: ago(0) }) },
  { name: 'queues', goal: null, run: (store) => store.queues() },
]

/** What people look at during an outage: with a million jobs that retry. */
export const OUTAGE_CASES: readonly Case[] = [
  ...CASES,
  {
    name: 'failures of an hour in a queue, the largest first',
    goal: null,
    run: (store) => store.failures({ since: ago(DAY_MS / 24), queue: 'small', sort: 'largest', limit: 5 }),
  },
  {
    name: 'one error of the last hour',
    goal: null,
    run: (store) => store.failures({ since: ago(DAY_MS / 24), fingerprint: 'fault-17' }),
  },
]

function ago(ms: number): Date {
  return new Date(Date.now() - ms)
}
