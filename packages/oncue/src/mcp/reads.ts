import { isFinished, type JobId } from '@oncue/core'
import { type BulkOperationStatus, bulkOperationSchema, type Timeline } from '@oncue/core/wire'
import { z } from 'zod'
import { briefBulk, briefHealth, briefJob, briefQueue, cut, cutData, errorLine, fullJob } from './brief.ts'
import { filterShape, pastSchema, toFilter } from './filter.ts'
import { type Tool, tool } from './tool.ts'

const SHOWN_ENTRIES = 40
const MAX_DATA = 4_000

const reads = { access: 'read', effect: 'none' } as const
const scope = { queue: z.string().optional(), topic: z.string().optional() }
const limit = (most: number, usual: number) => z.int().min(1).max(most).default(usual)

export const READS: readonly Tool[] = [
  tool({
    ...reads,
    name: 'health',
    title: 'Health',
    description:
      'The state of the whole queue, and a sentence that sums it up. Begin here when something is wrong.',
    input: z.strictObject({}),
    run: async (client) => briefHealth(await client.health.get()),
  }),
  tool({
    ...reads,
    name: 'job_stats',
    title: 'Job counts',
    description: 'How many jobs are in each status, the success rate, and how long a run takes.',
    input: z.strictObject(scope),
    run: (client, given) => client.jobs.stats(given),
  }),
  tool({
    ...reads,
    name: 'list_queues',
    title: 'Queues',
    description: 'All queues: what waits and runs in them, pauses and limits.',
    input: z.strictObject({ limit: limit(200, 50) }),
    async run(client, { limit: most }) {
      const queues = await client.queues.list()
      return { queues: queues.slice(0, most).map(briefQueue), more: Math.max(0, queues.length - most) }
    },
  }),
  tool({
    ...reads,
    name: 'explain_queue',
    title: 'Why a queue waits',
    description: 'Why the jobs of a queue wait, and about how long until none does.',
    input: z.strictObject({ queue: z.string() }),
    run: (client, given) => client.queues.explain(given),
  }),
  tool({
    ...reads,
    name: 'list_failures',
    title: 'Failures',
    description:
      'Errors, grouped by fingerprint: how many jobs retry or gave up, since when, and one job of each group.',
    input: z.strictObject({
      ...scope,
      since: pastSchema.optional().describe('gave up since; default: 24h'),
      text: z.string().optional().describe('text in the error'),
      sort: z.enum(['latest', 'largest']).default('largest'),
      limit: limit(50, 10),
    }),
    async run(client, given) {
      const groups = await client.jobs.failures(given)
      return groups.map(({ class: name, message, sample, trend: _, retryingIsExact, ...group }) => ({
        ...group,
        ...{ error: errorLine({ class: name, message }), atLeast: retryingIsExact ? null : true },
        job: sample.jobId,
      }))
    },
  }),
  tool({
    ...reads,
    name: 'find_jobs',
    title: 'Find jobs',
    description: 'Jobs that match all of the given conditions, the newest first, without their payloads.',
    input: z.strictObject({
      ...filterShape,
      order: z.enum(['newest', 'oldest']).optional(),
      limit: limit(50, 20),
      cursor: z.string().optional().describe('nextCursor of the previous page'),
    }),
    async run(client, { order, limit: most, cursor, ...named }) {
      const page = await client.jobs.list({ ...toFilter(named), order, limit: most, cursor })
      const { total, totalIsExact, nextCursor } = page
      return { total, atLeast: totalIsExact ? null : true, jobs: page.items.map(briefJob), nextCursor }
    },
  }),
  tool({
    ...reads,
    name: 'get_job',
    title: 'One job',
    description:
      'One job: its error, why it waits, and what happened to it in order. Payload, result and the data of its steps only if you ask for them.',
    input: z.strictObject({
      id: z.string(),
      data: z.boolean().default(false).describe('also payload, result, and data of the timeline'),
    }),
    async run(client, { id: text, data }) {
      const id = text as JobId
      const [job, story] = await Promise.all([client.jobs.get(id), client.jobs.timeline(id)])
      const waiting = isFinished(job.status) ? null : await client.jobs.explain(id)
      return {
        ...fullJob(job),
        ...(data && { payload: cutData(job.payload, MAX_DATA), result: cutData(job.result, MAX_DATA) }),
        masked: data ? job.masked : null,
        whyItWaits: waiting?.reasons.map((reason) => reason.text),
        waitsFor: waiting?.waitsFor,
        ...briefTimeline(story, data),
      }
    },
  }),
  tool({
    ...reads,
    name: 'list_workers',
    title: 'Workers',
    description: 'Live workers: what they serve and how busy they are.',
    input: z.strictObject({
      ended: z.boolean().default(false).describe('also those that stopped or were lost in 7 days'),
      limit: limit(200, 50),
    }),
    async run(client, { ended, limit: most }) {
      const workers = await client.workers.list({ ended })
      return { workers: workers.slice(0, most), more: Math.max(0, workers.length - most) }
    },
  }),
  tool({
    ...reads,
    name: 'list_schedules',
    title: 'Schedules',
    description: 'Cron schedules: their next runs and pauses.',
    input: z.strictObject({ limit: limit(200, 50) }),
    async run(client, { limit: most }) {
      const all = await client.schedules.list()
      const schedules = all.slice(0, most).map(({ payload: _, nextRuns: __, ...schedule }) => schedule)
      return { schedules, more: Math.max(0, all.length - most) }
    },
  }),
  tool({
    ...reads,
    name: 'list_bulk_operations',
    title: 'Bulk operations',
    description: 'Bulk operations, the newest first: who did what to how many jobs, and what became of them.',
    input: z.strictObject({
      status: z
        .enum(bulkOperationSchema.shape.status.options satisfies readonly BulkOperationStatus[])
        .optional(),
      limit: limit(50, 10),
    }),
    async run(client, given) {
      const { items } = await client.bulkOperations.list(given)
      return items.map(briefBulk)
    },
  }),
  tool({
    ...reads,
    name: 'get_bulk_operation',
    title: 'One bulk operation',
    description: 'The progress of a bulk operation, and what became of its jobs.',
    input: z.strictObject({ id: z.string() }),
    run: async (client, given) => briefBulk(await client.bulkOperations.get(given)),
  }),
]

function briefTimeline({ entries, isComplete }: Timeline, withData: boolean) {
  const shown = entries.slice(-SHOWN_ENTRIES).map(({ data, size: _, ...entry }) => ({
    ...entry,
    error: errorIn(data),
    ...(withData && { data: cutData(data, 500) }),
  }))
  return { timeline: shown, earlierEntries: isComplete && entries.length <= SHOWN_ENTRIES ? null : true }
}

/** Events of runs hold it as `error`; failed steps are it. */
function errorIn(data: unknown): string | null {
  if (typeof data !== 'object' || data === null) return null
  const error: unknown = 'error' in data ? data.error : data
  if (typeof error !== 'object' || error === null || !('message' in error)) return null
  const { message } = error
  const name = 'class' in error && typeof error.class === 'string' ? error.class : undefined
  return typeof message === 'string' ? cut(name ? `${name}: ${message}` : message, 200) : null
}
