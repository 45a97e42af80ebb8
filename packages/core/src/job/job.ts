import { z } from 'zod'
import type { IfRunning, OnConflict, ParentFailurePolicy, UniqueScope } from './enqueue-options.ts'
import { jobErrorSchema } from './failure.ts'
import { type JobId, jobIdSchema } from './id.ts'
import { type RetryPolicy, retryPolicySchema } from './retry.ts'
import { JOB_STATUSES } from './states.ts'

export const jobStatusSchema = z.enum(JOB_STATUSES)

const waitSchema = z.object({
  kind: z
    .enum(['timer', 'retry', 'signal', 'ask', 'children'])
    .describe('timer: a sleep; retry: the pause before a failed step, or a failed undo, runs again'),
  name: z
    .string()
    .describe('of the sleep, the step, the signal or the question; of children, how many are left'),
  until: z.string().nullable().describe('ISO 8601; null: without a timeout'),
  children: z
    .object({ left: z.int(), total: z.int() })
    .optional()
    .describe('of a wait for children: how many it waits for, and how many have not ended'),
})

/** What a suspended job waits for: the first of these resumes it. */
const jobWaitsSchema = z.object({
  since: z.string().describe('ISO 8601'),
  for: z.array(waitSchema),
})
/** What a suspended job waits for. */
export type JobWaits = z.output<typeof jobWaitsSchema>

/** How a job that is being undone will end, with its last error. */
const jobEndingSchema = z.object({
  since: z.string().describe('ISO 8601'),
  status: z.enum(['failed', 'cancelled']),
})
/** How a job ends when its undos have run. */
export type JobEnding = Readonly<z.output<typeof jobEndingSchema>>

/** A job as reads return it. Fields that do not apply are null, never absent. */
export const jobSchema = z.object({
  id: jobIdSchema,
  queue: z.string(),
  topic: z.string(),
  status: jobStatusSchema,
  priority: z.int().describe('higher runs first'),
  payload: z.unknown(),
  result: z.unknown(),
  runAt: z.date().describe('earliest start'),
  visibleAt: z.date().nullable().describe('when a worker may claim it next; null once finished'),
  lockedUntil: z.date().nullable().describe('until when the run owns it'),
  lockedBy: z.string().nullable().describe('id of the worker that runs it'),
  run: z.int().describe('number of the latest run; only ever grows'),
  retries: z.int(),
  maxRetries: z.int(),
  crashes: z.int().describe('runs whose worker crashed'),
  retry: retryPolicySchema.nullable().describe('null: quadratic'),
  timeoutMs: z.int(),
  uniqueKey: z.string().nullable(),
  concurrencyKey: z.string().nullable(),
  concurrencyLimit: z.int().nullable(),
  cancelAt: z.date().nullable().describe('when its run was asked to stop'),
  parentId: jobIdSchema.nullable(),
  depsLeft: z.int().describe('jobs it still waits for'),
  waits: jobWaitsSchema.nullable().describe('what a suspended job waits for; null: it is not suspended'),
  ending: jobEndingSchema
    .nullable()
    .describe('how a job will end whose undos run or are to run; null: it is not being undone'),
  cursor: z.unknown().describe('where its handler would go on'),
  progress: z.unknown(),
  lastError: jobErrorSchema.nullable(),
  trace: z.string().nullable().describe('W3C traceparent'),
  meta: z.record(z.string(), z.unknown()).nullable(),
  created: z.date(),
  updated: z.date(),
  startedAt: z.date().nullable(),
  finishedAt: z.date().nullable(),
})
/** A job as it is stored. */
export type Job = z.output<typeof jobSchema>

/** A job in a list: without the fields that may take a megabyte. */
export const jobSummarySchema = jobSchema.omit({ payload: true, result: true })
/** A job as lists show it: without payload, result and events. */
export type JobSummary = z.output<typeof jobSummarySchema>

interface UniqueRule {
  readonly key: string
  readonly scope: UniqueScope
  /** null: while the job is live. */
  readonly withinMs: number | null
  readonly onConflict: OnConflict
  /** For `replace`. */
  readonly ifRunning: IfRunning
}

/** A job to be stored: checked, encoded and complete. Made by `prepareJob`; stores trust it. */
export interface NewJob {
  readonly id: JobId
  readonly queue: string
  readonly topic: string
  /** JSON text. */
  readonly payload: string
  readonly priority: number
  /** null: `delayMs` from now, by the clock of the store. */
  readonly runAt: Date | null
  readonly delayMs: number
  readonly maxRetries: number
  readonly retry: RetryPolicy | null
  readonly timeoutMs: number
  /** JSON text. */
  readonly meta: string | null
  readonly trace: string | null
  readonly unique: UniqueRule | null
  readonly idempotencyKey: string | null
  /** Replaces an idempotency key, for jobs that Oncue makes itself: no option of a caller sets it. */
  readonly internalKey: string | null
  /**
   * True: QUEUE_NOT_ALLOWED where a job of another queue has one of its keys. For callers who may enqueue into some
   * queues only: they neither learn of such a job nor replace it. No option of a caller sets it.
   */
  readonly sameQueue?: boolean
  /**
   * Its id was derived from a request, which may be repeated: if a job with this id exists, live or finished, its id
   * is returned. `repeat`: this is likely, so it is looked up first. No option of a caller sets it.
   */
  readonly request?: 'first' | 'repeat'
  readonly concurrencyKey: string | null
  readonly concurrencyLimit: number | null
  /** The jobs it waits for. */
  readonly after: readonly JobId[]
  readonly onParentFailure: ParentFailurePolicy
  readonly parentId: JobId | null
  /** In a batch or a flow. No option of a caller sets it. */
  readonly flow?: FlowPlace
}

/** The place of a job in a batch or a flow, which is kept as long as the job. */
export interface FlowPlace {
  readonly flowId: JobId
  readonly place: number
  /** A job of a batch, what follows the batch, or a node of a flow. */
  readonly kind: 'job' | 'then' | 'on_failure' | 'node'
  readonly name: string | null
  /** The places that a node waits for. Null: it waits for none. Empty for what follows a batch: for all its jobs. */
  readonly after: readonly number[] | null
}
