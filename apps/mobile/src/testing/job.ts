import type { Outputs } from '@oncue/sdk'
import { NOW } from './health.ts'

type Job = Outputs['jobs']['get']
type Page = Outputs['jobs']['list']

export const JOB_ID = '019a8b2c-7d10-7000-8000-000000000001'

/** A job that waits, unless told otherwise. */
export function jobOf(differs: Partial<Job> = {}): Job {
  const job: Partial<Job> = {
    ...{ id: JOB_ID, queue: 'mail', topic: 'mail_digest', status: 'pending', priority: 0 },
    ...{ payload: { userId: 'u_1' }, result: null, runAt: NOW, visibleAt: NOW, lockedUntil: null },
    ...{ lockedBy: null, run: 0, retries: 0, maxRetries: 3, crashes: 0, retry: null, timeoutMs: 600_000 },
    ...{ uniqueKey: null, concurrencyKey: null, concurrencyLimit: null, cancelAt: null, parentId: null },
    ...{
      depsLeft: 0,
      waits: null,
      ending: null,
      cursor: null,
      progress: null,
      lastError: null,
      trace: null,
      meta: null,
    },
    ...{ created: NOW, updated: NOW, startedAt: null, finishedAt: null, events: [], masked: [] },
    ...differs,
  }
  return job as Job
}

/** A page of a list with these jobs. */
export function pageOf(jobs: readonly Job[], differs: Partial<Page> = {}): Page {
  const items = jobs.map(({ payload, result, events, masked, ...summary }) => summary)
  return {
    ...{ items, total: items.length, totalIsExact: true, nextCursor: null, limit: 100, offset: 0 },
    ...differs,
  }
}
