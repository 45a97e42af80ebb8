import { hostname } from 'node:os'
import { prepareJob } from '@oncue/core'
import { openStore } from '../../src/open.ts'
import type { ClaimedJob } from '../../src/store.ts'

/**
 * A child process for the suite, with a store of its own, controlled by messages. Exits when
 * its parent does.
 */
export type Command =
  /** Claims and completes with many concurrent claimers until nothing is left. */
  | { readonly do: 'drain'; readonly claimers: number; readonly limit: number }
  /** Becomes a worker and holds what it claims. */
  | {
      readonly do: 'hold'
      readonly worker: string
      readonly limit: number
      readonly start: number
      readonly leaseMs: number
    }
  /** Settles what it holds as completed. */
  | { readonly do: 'settle' }
  /** Enqueues one job after the other. */
  | { readonly do: 'enqueue'; readonly count: number; readonly queue: string }
  /** Appends events one by one, at whatever version the stream is. */
  | { readonly do: 'append'; readonly jobId: string; readonly types: string[] }
  /** Enqueues jobs of one unique key, all at once. */
  | { readonly do: 'enqueueKey'; readonly key: string; readonly times: number }
  /** Works off a limited key with many claimers, and reports how many ran at once. */
  | { readonly do: 'workLimited'; readonly worker: string; readonly limit: number }

export type Answers = {
  drain: { readonly claimed: string[]; readonly stale: number }
  hold: { readonly ids: string[] }
  settle: { readonly stale: string[] }
  enqueue: { readonly ids: string[] }
  append: { readonly versions: number[] }
  enqueueKey: { readonly ids: string[] }
  workLimited: { readonly done: number }
}

const [, , url = '', schema] = process.argv
const store = await openStore(url, { schema })
let held: ClaimedJob[] = []

function attend(id: string, concurrency: number) {
  return store.attend({
    id,
    host: hostname(),
    pid: process.pid,
    queues: ['default'],
    concurrency,
    version: '0',
  })
}

const ACTIONS: { [K in Command['do']]: (command: Extract<Command, { do: K }>) => Promise<Answers[K]> } = {
  async drain({ claimers, limit }) {
    const claimed: string[] = []
    let stale = 0
    const claimer = async () => {
      const request = { queues: ['default'], limit, worker: crypto.randomUUID(), leaseMs: 60_000 }
      for (;;) {
        const { jobs } = await store.claim(request)
        if (jobs.length === 0) return
        claimed.push(...jobs.map((job) => job.id))
        const report = await store.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'complete' })))
        stale += report.stale.length
      }
    }
    await Promise.all(Array.from({ length: claimers }, claimer))
    return { claimed, stale }
  },

  async hold({ worker, limit, start, leaseMs }) {
    await attend(worker, limit)
    held = (await store.claim({ queues: ['default'], limit, start, worker, leaseMs })).jobs
    return { ids: held.map((job) => job.id) }
  },

  async settle() {
    const { stale } = await store.settle(
      held.map(({ id, run }) => ({ id, run, kind: 'complete', result: '"by the child"' })),
    )
    return { stale: stale.map((run) => run.id) }
  },

  async enqueueKey({ key, times }) {
    const enqueue = () => store.enqueue([prepareJob('mail_digest', null, { unique: { key } })])
    const ids = await Promise.all(Array.from({ length: times }, enqueue))
    return { ids: ids.flat() }
  },

  async workLimited({ worker, limit }) {
    await attend(worker, limit)
    let done = 0
    for (let idle = 0; idle < 20; ) {
      const { jobs } = await store.claim({ queues: ['default'], limit, worker, leaseMs: 60_000 })
      await store.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'complete' })))
      done += jobs.length
      idle = jobs.length > 0 ? 0 : idle + 1
    }
    return { done }
  },

  async enqueue({ count, queue }) {
    const ids: string[] = []
    for (let n = 0; n < count; n++)
      ids.push(...(await store.enqueue([prepareJob('mail_digest', {}, { queue })])))
    return { ids }
  },

  async append({ jobId, types }) {
    const versions: number[] = []
    for (const type of types) versions.push(await store.events.append(jobId, null, [{ type }]))
    return { versions }
  },
}

process.on('message', async (command: Command) => {
  process.send?.(await ACTIONS[command.do](command as never))
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
