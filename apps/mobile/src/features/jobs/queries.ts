import type { Client, JobStatus, Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'
import type { JobFilter } from './filter.ts'
import type { Waits } from './waits.ts'

export const PAGE = 100

/** Only what a row shows: an error alone may take 16 KB, and there may be 10,000 rows. */
export interface JobLine {
  readonly id: string
  readonly topic: string
  readonly queue: string
  readonly status: JobStatus
  readonly run: number
  readonly attempts: number
  readonly retries: number
  readonly crashes: number
  readonly maxAttempts: number
  readonly meta: string | null
  readonly error: string | null
  readonly created: Date
  readonly runAt: Date
  readonly visibleAt: Date | null
  readonly waits: Waits | null
  readonly ending: JobPage['items'][number]['ending']
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
}

export interface JobLines {
  readonly items: readonly JobLine[]
  readonly nextCursor: string | null
  readonly total: number
  readonly totalIsExact: boolean
}

type JobPage = Outputs['jobs']['list']

/** Which jobs, and in which order. */
export interface Listing {
  readonly filter: JobFilter
  readonly order: 'newest' | 'oldest'
}

/** `isStill`: rows are selected, or there are many pages. */
export const jobPages = ({ filter, order }: Listing, isStill: boolean) => ({
  key: ['jobs.list', 'pages', filter, order],
  async call(client: Client, { cursor, signal }: { cursor: string | undefined; signal: AbortSignal }) {
    const request = { ...requestOf(filter, order), ...(cursor !== undefined && { cursor }) }
    return linesOf(await client.jobs.list(request, { signal }))
  },
  everyMs: 10_000,
  isStill,
})

/** The first, to know what came while one is far down. */
export const firstJobs = ({ filter, order }: Listing, enabled: boolean): Read<JobLines> => ({
  key: ['jobs.list', 'first', filter, order],
  call: async (client, options) => linesOf(await client.jobs.list(requestOf(filter, order), options)),
  everyMs: 10_000,
  enabled,
})

/** Why a job waits. It can change without the job, as when a queue is paused or a worker starts. */
export const explanation = (id: string, enabled: boolean): Read<Outputs['jobs']['explain']> => ({
  key: ['jobs.explain', id],
  call: (client, options) => client.jobs.explain(id, options),
  everyMs: 10_000,
  enabled,
})

/** What happened to a job, beside its events. Asked anew when its stream tells something. */
export const story = (id: string): Read<Outputs['jobs']['timeline']> => ({
  key: ['jobs.timeline', id],
  call: (client, options) => client.jobs.timeline(id, options),
})

export const family = (id: string): Read<Outputs['jobs']['tree']> => ({
  key: ['jobs.tree', id],
  call: (client, options) => client.jobs.tree(id, options),
})

/** Whether a reading of a search finds anything, and about how many. */
export const probe = (filter: JobFilter): Read<Found> => ({
  key: ['jobs.list', 'probe', filter],
  async call(client, options) {
    const { total, totalIsExact, items, nextCursor } = await client.jobs.list(
      { ...filter, limit: 1 },
      options,
    )
    // A page that was cut short after finding a job has answered the question.
    return {
      total: Math.max(total, items.length),
      isExact: totalIsExact,
      isCut: nextCursor !== null && items.length === 0,
    }
  },
  isFixed: true,
})

export interface Found {
  readonly total: number
  readonly isExact: boolean
  /** The search took too long, and has found nothing so far. */
  readonly isCut: boolean
}

export const topics: Read<Outputs['topics']['list']> = {
  key: ['topics.list'],
  call: (client, options) => client.topics.list(undefined, options),
}

const requestOf = (filter: JobFilter, order: Listing['order']) => ({
  ...{ ...filter, limit: PAGE },
  ...(order === 'oldest' && { order }),
})

const MAX_ERROR = 200
const MAX_META = 120

function linesOf({ items, nextCursor, total, totalIsExact }: JobPage): JobLines {
  return { items: items.map(lineOf), nextCursor, total, totalIsExact }
}

/** How often it was tried since it was enqueued or last requeued. A suspended job is within a try. */
export const attemptsOf = ({
  retries,
  crashes,
  startedAt,
  waits,
}: Pick<JobPage['items'][number], 'retries' | 'crashes' | 'startedAt' | 'waits'>) =>
  retries + crashes + (startedAt || waits ? 1 : 0)

function lineOf(job: JobPage['items'][number]): JobLine {
  const { id, topic, queue, status, run, created, runAt, startedAt, finishedAt, lastError } = job
  const { retries, crashes, visibleAt, waits, ending } = job
  // That of an earlier run says nothing about a job that completed.
  const shown = status === 'completed' ? null : lastError
  const error = shown && `${shown.class}: ${shown.message}`.slice(0, MAX_ERROR)
  const attempts = attemptsOf(job)
  return {
    ...{ id, topic, queue, status, run, error, created, runAt, startedAt, finishedAt },
    ...{ visibleAt, waits, ending },
    ...{ attempts, retries, crashes, maxAttempts: job.maxRetries + 1, meta: metaInWords(job.meta) },
  }
}

/** `tenant=acme agent=7`. */
function metaInWords(meta: JobPage['items'][number]['meta']): string | null {
  if (!meta) return null
  const words = Object.entries(meta).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return words.join(' ').slice(0, MAX_META)
}
