import { z } from 'zod'
import { jobIdSchema } from './id.ts'
import { LIMITS } from './limits.ts'
import { wholeRecord } from './meta.ts'
import { queueSchema } from './names.ts'
import { retryOptionsSchema } from './retry.ts'

const prioritySchema = z.int().min(LIMITS.priorityMin).max(LIMITS.priorityMax).describe('higher runs first')

const timeoutSchema = z.int().min(1).max(LIMITS.timeoutMs).describe('milliseconds a run may take')

const retrySchema = z.union([z.literal(false), retryOptionsSchema]).describe('false: never retry')

/** Options that the definition of a job may set for all its jobs. */
export const jobDefaultsSchema = z.strictObject({
  /** Where it waits. Default: `default`. */
  queue: queueSchema.optional(),
  /** Higher runs first, -32,768 to 32,767. Default: 0. */
  priority: prioritySchema.optional(),
  /** When failed runs are repeated; `false`: never. */
  retry: retrySchema.optional(),
  /** Milliseconds a run may take. Default: 600,000, ten minutes. */
  timeoutMs: timeoutSchema.optional(),
})

const DATE_RULE = { error: 'must be between 1970-01-01 and 9999-12-31' }
const keySchema = z.string().min(1).max(LIMITS.keyLength)

const PARENT_FAILURE_POLICIES = ['wait', 'stop', 'go_on', 'cancel'] as const
/** Stay blocked until the parent is requeued · fail too · run anyway · be cancelled too. */
export type ParentFailurePolicy = (typeof PARENT_FAILURE_POLICIES)[number]

const ON_CONFLICT = ['existing', 'replace', 'reject'] as const
/** Return the id of the existing job · give it the new payload while it waits · refuse with UNIQUE_KEY_LIVE. */
export type OnConflict = (typeof ON_CONFLICT)[number]

const UNIQUE_SCOPES = ['topic', 'all'] as const
/** One job of the key in each topic · one in all topics together. */
export type UniqueScope = (typeof UNIQUE_SCOPES)[number]

const IF_RUNNING = ['wait', 'start'] as const
/** The new job waits until the run that it replaces has ended · it may start beside that run. */
export type IfRunning = (typeof IF_RUNNING)[number]

const uniqueSchema = z.strictObject({
  /** 1 to 255 characters. Jobs of other topics may have the same key, unless `scope` says otherwise. */
  key: keySchema,
  /** `topic` (default): the key belongs to the topic of the job. `all`: all topics share it; not with `replace`. */
  scope: z
    .enum(UNIQUE_SCOPES)
    .optional()
    .describe('topic: one job of the key per topic; all: one across all topics'),
  /** Milliseconds from this call on, finished jobs included. Default: the key is taken while its job is live. */
  within: z
    .int()
    .min(1)
    .max(LIMITS.delayMs)
    .optional()
    .describe('milliseconds, including after the job has finished; default: while the job is live'),
  /**
   * `existing` (default): return the id of the job that is there. `replace`: give it this payload, priority,
   * time, meta and trace while it waits; while it runs, a new job follows it. `reject`: fail with UNIQUE_KEY_LIVE.
   */
  onConflict: z.enum(ON_CONFLICT).optional().describe('existing'),
  /**
   * For `replace`, when the job runs already; it is not retried any more. `wait` (default): the new job starts
   * when that run has ended, so at most one of the key runs. `start`: it may start beside it.
   */
  ifRunning: z
    .enum(IF_RUNNING)
    .optional()
    .describe(
      'when replacing a running job; wait: start the new job after it has ended; start: start it at once',
    ),
})

/** The options of one job, besides topic and payload. An unknown key is refused. */
export const enqueueOptionsSchema = z.strictObject({
  ...jobDefaultsSchema.shape,
  /** Not before this time. Excludes `delay`. */
  runAt: z
    .date()
    .min(new Date(LIMITS.dateMin), DATE_RULE)
    .max(new Date(LIMITS.dateMax), DATE_RULE)
    .optional()
    .describe('earliest start'),
  /** Milliseconds from now, by the clock of the database. Excludes `runAt`. */
  delay: z
    .int()
    .min(0)
    .max(LIMITS.delayMs)
    .optional()
    .describe('earliest start, in milliseconds from now; instead of runAt'),
  /** How often a failed run is repeated, 0 to 1,000. Default: 3. Excludes `retry.max`. */
  maxRetries: z.int().min(0).max(LIMITS.maxRetries).optional().describe('instead of retry.max'),
  /** At most one job of this key in its topic. */
  unique: uniqueSchema.optional().describe('at most one live job of the topic with this key'),
  /** A repeated call with the same key and topic within 24 hours returns the id of the first. */
  idempotencyKey: keySchema
    .optional()
    .describe('a repeated call for the same topic within a day returns the id of the first'),
  /** Jobs of all topics and queues that share it share a limit. */
  concurrencyKey: keySchema.optional().describe('jobs that share it share a limit'),
  /** How many jobs of the `concurrencyKey` run at once, 1 to 32,767. Default: 1. */
  concurrencyLimit: z
    .int()
    .min(1)
    .max(LIMITS.concurrencyLimit)
    .optional()
    .describe('how many of them may run at once; default: 1'),
  /** Ids of up to 1,000 jobs that must have completed first. */
  after: z.array(jobIdSchema).max(LIMITS.parents).optional().describe('waits until these have completed'),
  /** What to do when one of `after` fails or is cancelled. `wait` (default): stay blocked until it is requeued. */
  onParentFailure: z
    .enum(PARENT_FAILURE_POLICIES)
    .optional()
    .describe('what to do when one of them does not complete; default: wait'),
  /** The job that enqueued this one; shown to people. */
  parentId: jobIdSchema.optional(),
  /** W3C traceparent. */
  trace: z.string().max(LIMITS.traceLength).optional().describe('W3C traceparent'),
  /** What lists can be filtered by. */
  meta: wholeRecord(z.string(), z.unknown()).optional().describe('values that lists can be filtered by'),
})
/** The options of one job. An interface, so that editors show its name, and not its thirteen properties. */
export interface EnqueueOptions extends z.input<typeof enqueueOptionsSchema> {}
