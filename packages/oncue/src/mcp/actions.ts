import { OncueError } from '@oncue/core'
import type { BulkOperation, JobFilter, QueueOverview } from '@oncue/core/wire'
import { timeoutSignal } from '@oncue/runtime'
import type { Client } from '@oncue/sdk'
import { z } from 'zod'
import { briefBulk, briefFound, briefQueue, toText } from './brief.ts'
import { filterShape, toFilter } from './filter.ts'
import { Previews } from './previews.ts'
import { type Tool, tool } from './tool.ts'

/** How long an action waits for the bulk operation that it began. */
const PATIENCE_MS = 5_000

/** The tools that change jobs and queues, by the names of their actions. */
const JOB_TOOLS = { requeue: 'requeue_jobs', run_now: 'run_jobs_now', cancel: 'cancel_jobs' } as const
const QUEUE_TOOLS = { pause: 'pause_queue', resume: 'resume_queue' } as const

type JobAction = keyof typeof JOB_TOOLS
type QueueAction = keyof typeof QUEUE_TOOLS

interface PreviewedJobs {
  readonly action: JobAction
  readonly filter: JobFilter
  readonly asOf: Date
  readonly count: number
}

interface PreviewedQueue {
  readonly action: QueueAction
  readonly queue: string
  readonly forSeconds: number | undefined
  readonly paused: string
}

const preview = z.string().describe('the id that the preview returned')

/** A few first, and the others when those complete; for actions after which jobs run. */
const carefully = {
  canary: z
    .int()
    .min(1)
    .max(500)
    .optional()
    .describe('do so many first, and the others only when none of those fails again'),
  spread_seconds: z.int().min(0).max(86_400).default(0).describe('spread the jobs over this time'),
}

/** With the previews of one session. The preview of an action is a read; the action needs it. */
export function createActions(): readonly Tool[] {
  const jobs = new Previews<PreviewedJobs>()
  const queues = new Previews<PreviewedQueue>()

  const act = (
    action: JobAction,
    { id, ...how }: { id: string; canary?: number | undefined; spread_seconds?: number },
    client: Client,
  ) =>
    jobs.act(id, sameAs(action, JOB_TOOLS), async ({ filter, asOf, count }) => {
      const operation = await client.bulkOperations.run({
        ...{ action, filter, asOf, expectedCount: count, idempotencyKey: id },
        ...{ spreadSeconds: how.spread_seconds, canary: how.canary ? { count: how.canary } : undefined },
      })
      return briefBulk(await follow(client, operation))
    })

  const change = (action: QueueAction, id: string, client: Client) =>
    queues.act(id, sameAs(action, QUEUE_TOOLS), async ({ queue, forSeconds, paused }) => {
      const now = await overviewOf(client, queue)
      if (pauseOf(now) !== paused)
        throw new OncueError('COUNT_MISMATCH', `The queue ${queue} was paused or resumed since the preview`, {
          hint: 'Preview the action again.',
        })
      if (action === 'pause') await client.queues.pause({ queue, forSeconds })
      else await client.queues.resume({ queue })
      return briefQueue(await overviewOf(client, queue))
    })

  return [
    tool({
      ...{ access: 'read', effect: 'none' },
      name: 'preview_jobs',
      title: 'Preview an action on jobs',
      description:
        'What an action would do: how many jobs match, what they are and why they failed. Changes nothing. Show it to the user; the action takes the id that this returns, and does those jobs alone.',
      input: z.strictObject({ action: z.enum(Object.keys(JOB_TOOLS) as JobAction[]), ...filterShape }),
      async run(client, { action, ...named }) {
        const filter = toFilter(named)
        const found = await client.bulkOperations.preview({ action, filter })
        const { asOf, count, countIsExact } = found
        return {
          preview: jobs.add({ action, filter, asOf, count }),
          ...{ actWith: JOB_TOOLS[action], asOf, count, atLeast: countIsExact ? null : true },
          ...briefFound(found),
        }
      },
    }),
    tool({
      ...{ access: 'read', effect: 'none' },
      name: 'preview_queue',
      title: 'Preview an action on a queue',
      description:
        'What pausing or resuming a queue would stop or start. Changes nothing. Show it to the user; the action takes the id that this returns.',
      input: z.strictObject({
        action: z.enum(Object.keys(QUEUE_TOOLS) as QueueAction[]),
        queue: z.string(),
        for_seconds: z
          .int()
          .min(1)
          .optional()
          .describe('the pause ends by itself; default: when it is resumed'),
      }),
      async run(client, { action, queue, for_seconds: forSeconds }) {
        const now = await overviewOf(client, queue)
        return {
          preview: queues.add({ action, queue, forSeconds, paused: pauseOf(now) }),
          ...{ actWith: QUEUE_TOOLS[action], forSeconds, queue: briefQueue(now) },
        }
      },
    }),
    tool({
      ...{ access: 'act', effect: 'changes' },
      name: JOB_TOOLS.requeue,
      title: 'Requeue jobs',
      description: 'Requeues the finished jobs of a preview, with all their retries.',
      input: z.strictObject({ preview, ...carefully }),
      run: (client, { preview: id, ...how }) => act('requeue', { id, ...how }, client),
    }),
    tool({
      ...{ access: 'act', effect: 'changes' },
      name: JOB_TOOLS.run_now,
      title: 'Run jobs now',
      description: 'Runs the retrying and scheduled jobs of a preview now, instead of at their time.',
      input: z.strictObject({ preview, ...carefully }),
      run: (client, { preview: id, ...how }) => act('run_now', { id, ...how }, client),
    }),
    tool({
      ...{ access: 'act', effect: 'ends' },
      name: JOB_TOOLS.cancel,
      title: 'Cancel jobs',
      description: 'Cancels the waiting jobs of a preview, and asks the running ones to stop.',
      input: z.strictObject({ preview }),
      run: (client, { preview: id }) => act('cancel', { id }, client),
    }),
    tool({
      ...{ access: 'act', effect: 'changes' },
      name: QUEUE_TOOLS.pause,
      title: 'Pause a queue',
      description: 'Pauses the queue of a preview: running jobs finish, no new ones start.',
      input: z.strictObject({ preview }),
      run: (client, { preview: id }) => change('pause', id, client),
    }),
    tool({
      ...{ access: 'act', effect: 'changes' },
      name: QUEUE_TOOLS.resume,
      title: 'Resume a queue',
      description: 'Resumes the paused queue of a preview.',
      input: z.strictObject({ preview }),
      run: (client, { preview: id }) => change('resume', id, client),
    }),
    tool({
      ...{ access: 'act', effect: 'changes' },
      name: 'stop_bulk_operation',
      title: 'Stop a bulk operation',
      description: 'Stops a bulk operation after its current batch. What was done stays done.',
      input: z.strictObject({ id: z.string() }),
      run: async (client, given) => briefBulk(await client.bulkOperations.stop(given)),
    }),
  ]
}

function sameAs<Action extends string>(action: Action, tools: Readonly<Record<Action, string>>) {
  return ({ action: previewed }: { readonly action: Action }) => {
    if (previewed === action) return
    throw new OncueError('INVALID_INPUT', `This is the preview of ${previewed}`, {
      hint: `Call ${tools[previewed]} with it, or preview this action.`,
    })
  }
}

/** Until it has ended, or patience has. It has begun, whatever becomes of the stream. */
async function follow(client: Client, begun: BulkOperation): Promise<BulkOperation> {
  let latest = begun
  try {
    const signal = timeoutSignal(PATIENCE_MS)
    for await (latest of client.bulkOperations.watch({ id: begun.id }, { signal }))
      if (latest.finishedAt) break
  } catch {}
  return latest
}

/** A queue without jobs is not listed, and can be paused. */
async function overviewOf(client: Client, queue: string): Promise<QueueOverview> {
  const known = (await client.queues.list()).find((each) => each.queue === queue)
  return (
    known ?? {
      ...{ queue, waiting: 0, scheduled: 0, running: 0, suspended: 0, blocked: 0, throttled: 0 },
      ...{ oldestWaiting: null, paused: null, ageingMs: null, limit: null },
    }
  )
}

const pauseOf = ({ paused }: QueueOverview) => toText(paused)
