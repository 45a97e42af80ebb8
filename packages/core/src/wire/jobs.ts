import { z } from 'zod'
import { jobErrorSchema } from '../job/failure.ts'
import { jobIdSchema } from '../job/id.ts'
import { jobSchema, jobStatusSchema, jobSummarySchema } from '../job/job.ts'
import { LIMITS } from '../job/limits.ts'
import { wholeRecord } from '../job/meta.ts'
import { queueSchema, topicSchema } from '../job/names.ts'
import {
  FINISHED_STATUSES,
  JOB_STATUSES,
  type JobStatus,
  PENDING_KINDS,
  type PendingKind,
} from '../job/states.ts'
import { lastEventIdSchema, plainText, timeSchema } from './fields.ts'
import { isIdSuffix } from './search-query.ts'

/** Each is a condition of the statement: building it for thousands of them would take minutes. */
const MAX_META_KEYS = 20

/** What a filter can ask for: a status, one kind of pending jobs, or suspended ones, which no other of these includes. */
export const filterStatusSchema = z.enum([...JOB_STATUSES, ...PENDING_KINDS, 'suspended'])
/** What a filter takes as a status: those of jobs, and finer ones of waiting jobs. */
export type FilterStatus = z.output<typeof filterStatusSchema>

/** Which jobs. The store checks what can be combined. */
export const jobFilterSchema = z.strictObject({
  /** In this status, or in one of these. */
  status: z
    .union([filterStatusSchema, z.array(filterStatusSchema).min(1).max(filterStatusSchema.options.length)])
    .optional()
    .describe(
      'one status, or several; waiting (due), scheduled (due later) and retrying (a run failed) are kinds of pending; suspended jobs wait for a signal, a time, an answer or children, and are neither pending nor blocked here',
    ),
  /** In this queue. */
  queue: queueSchema.optional(),
  /** Of this topic. */
  topic: topicSchema.optional(),
  /** Jobs whose meta has all of these. */
  meta: wholeRecord(plainText(255), z.union([plainText(LIMITS.metaBytes), z.number(), z.boolean()]))
    .refine((meta) => Object.keys(meta).length <= MAX_META_KEYS, {
      error: `must name at most ${MAX_META_KEYS} keys`,
    })
    .optional(),
  /** That failed for this reason: `lastError.fingerprint`. */
  fingerprint: plainText(255).optional(),
  /** Created at this moment or later. */
  createdFrom: timeSchema.optional(),
  /** Created before this moment. */
  createdTo: timeSchema.optional(),
  /** Whose id begins with it. */
  idPrefix: plainText(36).optional(),
  /** Whose id ends with it: 4 to 32 hexadecimal digits, with or without the dashes. */
  idSuffix: plainText(36)
    .refine(isIdSuffix, { error: 'must be the last 4 to 32 hexadecimal digits of an id' })
    .optional()
    .describe('the last 4 to 32 hexadecimal digits of the id'),
  /** Text within the payload. Needs `createdFrom`: it reads every payload of that time. */
  payloadText: plainText(1_000).optional().describe('text within the payload; needs createdFrom'),
  /** Text within `class: message` of the last error, ignoring case, of jobs that failed or are retried. */
  errorText: plainText(1_000)
    .min(1)
    .optional()
    .describe('text within "class: message" of the error of failed and retrying jobs'),
})
/** Which jobs a list or a bulk operation is about: every part that is given must fit. */
export type JobFilter = Readonly<z.output<typeof jobFilterSchema>>

/** What a filter asks for, each job in one of them and in one order; undefined: any. */
export function wantedStates({ status }: Pick<JobFilter, 'status'>): readonly FilterStatus[] | undefined {
  if (status === undefined) return undefined
  const wanted: readonly FilterStatus[] = Array.isArray(status) ? status : [status]
  const isEvery = PENDING_KINDS.every((kind) => wanted.includes(kind))
  const isPending = isEvery || wanted.includes('pending')
  return filterStatusSchema.options.filter((known) =>
    isPending && (known === 'pending' || isPendingKind(known)) ? known === 'pending' : wanted.includes(known),
  )
}

/** The statuses of the jobs that a filter asks for, each once and in one order; undefined: any. */
export function statusesOf(filter: Pick<JobFilter, 'status'>): readonly JobStatus[] | undefined {
  const wanted = wantedStates(filter)?.flatMap(statusesIn)
  return wanted && JOB_STATUSES.filter((known) => wanted.includes(known))
}

/** Which statuses the jobs in this state have. */
function statusesIn(state: FilterStatus): readonly JobStatus[] {
  if (state === 'suspended') return ['blocked', 'pending']
  return [isPendingKind(state) ? 'pending' : state]
}

export function isPendingKind(state: FilterStatus): state is PendingKind {
  const kinds: readonly FilterStatus[] = PENDING_KINDS
  return kinds.includes(state)
}

const pageRequestSchema = z.strictObject({
  /** 1 to 1,000. Default: 50. */
  limit: z.int().min(1).max(1_000).default(50),
  /** Replaces the cursor, for callers that count pages. */
  offset: z.int().min(0).optional(),
  /** By when they were created. Default: newest. */
  order: z.enum(['newest', 'oldest']).optional().describe('which jobs come first; default: newest'),
  /** Of the page before. Nothing is skipped or shown twice while jobs come, finish and go. */
  cursor: z.string().max(1_000).optional().describe('nextCursor of the previous page; instead of offset'),
})
export type PageRequest = Readonly<z.input<typeof pageRequestSchema>>

export const listJobsRequestSchema = jobFilterSchema.extend(pageRequestSchema.shape)

const jobPageSchema = z.object({
  /**
   * Newest first, unless `order` says otherwise. A search without an index (text of payloads or errors, the end of an id, a short id prefix, or a value of meta that thousands of
   * jobs have together with something else) gives up after a while: then the page is short, or even empty, and
   * `nextCursor` continues from there.
   */
  items: z.array(jobSummarySchema),
  total: z.int(),
  /** False: there are at least `total`. */
  totalIsExact: z.boolean().describe('false: there are at least this many'),
  /** Null: this is the last page. */
  nextCursor: z.string().nullable(),
})
export type JobPage = Readonly<z.output<typeof jobPageSchema>>

export const listJobsResponseSchema = jobPageSchema.extend({ limit: z.int(), offset: z.int() })

/** One entry of a job's stream. Versions count from 1 without gaps. */
export const jobEventSchema = z.object({
  jobId: jobIdSchema,
  version: z.int(),
  type: z.string(),
  data: z.unknown(),
  created: z.date(),
})
/** An entry of a job's event stream. */
export type JobEvent = Readonly<z.output<typeof jobEventSchema>>

export const maskedSchema = z.array(z.string()).describe('paths of the values that only admins see')

const jobDetailsSchema = jobSchema.extend({ events: z.array(jobEventSchema) })
/** A job with everything that is stored of it, as `get` returns it. */
export type JobDetails = z.output<typeof jobDetailsSchema>

export const getJobResponseSchema = jobDetailsSchema.extend({ masked: maskedSchema })

export const isSuspendedSchema = z.boolean().describe('it waits for a signal, a time, an answer or children')

const relativeSchema = jobSummarySchema
  .pick({ id: true, topic: true, queue: true, status: true, ending: true })
  .extend({ isSuspended: isSuspendedSchema })
export type Relative = Readonly<z.output<typeof relativeSchema>>

/** The relatives of a job. Each list has the first 50. */
export const familySchema = z.object({
  id: jobIdSchema,
  parent: relativeSchema.nullable().describe('the job that spawned it; null: none, or it was pruned'),
  waitsFor: z.array(relativeSchema).describe('unfinished jobs that it waits for, the first 50'),
  dependants: z.array(relativeSchema).describe('jobs that wait for it, the first 50'),
  children: z.array(relativeSchema).describe('jobs that it spawned while it ran, the first 50'),
  childrenAreComplete: z.boolean().describe('false: there may be more children'),
})
export type Family = z.output<typeof familySchema>

export const waitReasonSchema = z.object({
  kind: z.enum([
    'parents',
    'scheduled',
    'back_off',
    'suspended',
    'undoing',
    'paused',
    'no_worker',
    'unknown_topic',
    'unknown_queue',
    'concurrency_key',
    'queue_limit',
    'rate_limit',
    'slots_busy',
    'in_line',
  ]),
  /** "Queue mail is paused by anna, for another 12 min". */
  text: z.string().describe('one sentence: "43rd in line, about 4 min"'),
  until: z.date().nullable().describe('when this reason ends by itself; null: not known'),
})
export type WaitReason = Readonly<z.output<typeof waitReasonSchema>>

/** Why a job waits. */
export const explanationSchema = z.object({
  id: jobIdSchema,
  status: jobStatusSchema,
  /** Everything that keeps it from running now. Empty: it runs, or has finished. */
  reasons: z
    .array(waitReasonSchema)
    .describe('what keeps it from running now; empty: it runs or has finished'),
  /** Of a job that is due. */
  position: z
    .object({
      ahead: z.int().describe('due jobs that are taken before it; counted up to 10,000'),
      isExact: z.boolean().describe('false: there are more, or priorities age'),
      aboutMs: z
        .int()
        .nullable()
        .describe('about how long, by the throughput of the last 5 min; null: not known'),
    })
    .nullable(),
  /** The first 50. */
  waitsFor: z.array(relativeSchema).describe('the jobs that it waits for, the first 50'),
})
export type Explanation = z.output<typeof explanationSchema>

export const jobEventsRequestSchema = z.strictObject({
  id: jobIdSchema,
  afterVersion: z.int().min(0).default(0),
  limit: z.int().min(1).max(1_000).default(100),
})

export const jobEventsSchema = z.object({ events: z.array(jobEventSchema), masked: maskedSchema })

/** A non-empty filter. An empty one is almost certainly an unset variable, and would match every job. */
export const actedFilterSchema = jobFilterSchema
  .refine((filter) => Object.values(filter).some((value) => value !== undefined), {
    error: 'must have at least one condition: an empty filter would match every job',
  })
  .superRefine((filter, { addIssue }) => {
    for (const name of ['meta', 'fingerprint', 'idPrefix', 'payloadText', 'errorText'] as const) {
      const { [name]: value } = filter
      const isEmpty =
        typeof value === 'string' ? value.trim() === '' : value && Object.keys(value).length === 0
      if (isEmpty)
        addIssue({ code: 'custom', path: [name], message: 'is empty, which would match every job' })
    }
  })

/** Jobs to act on: by their ids, or by a filter. */
export const jobTargetSchema = z.union([
  z.strictObject({ ids: z.array(jobIdSchema).min(1) }),
  z.strictObject({
    filter: actedFilterSchema,
    asOf: timeSchema.optional().describe('jobs that match later are left alone; default: now'),
  }),
])
export type JobTarget = z.output<typeof jobTargetSchema>

/** Another payload for one job, as it was when the caller read it. */
export const requeueWithPayloadRequestSchema = z.strictObject({
  id: jobIdSchema,
  run: z.int().min(0).max(2_147_483_647).describe('run of the job when it was read'),
  updated: timeSchema.describe('updated of the job when it was read; if it has changed since, JOB_CHANGED'),
  payload: z
    .unknown()
    .refine((payload) => payload !== undefined, { error: 'is missing' })
    .describe('the whole new payload, as JSON; checked as by an enqueue'),
})

export const requeuedWithPayloadSchema = z.object({
  id: jobIdSchema,
  changed: z.array(z.string()).describe('which fields differ, the first 20: `payload.amount`'),
})

/** A step of a finished job that is to be repeated, with all after it. */
export const requeueFromRequestSchema = z.strictObject({
  id: jobIdSchema,
  step: plainText(LIMITS.stepNameLength)
    .min(1)
    .nullable()
    .describe('a recorded step: it and what was recorded after it is forgotten; null: everything'),
})

export const requeuedFromSchema = z.object({ id: jobIdSchema, step: z.string().nullable() })

/** A signal for one live job. */
export const signalJobRequestSchema = z.strictObject({
  id: jobIdSchema,
  name: plainText(LIMITS.signalNameLength).min(1).describe('a signal that the topic of the job names'),
  data: z
    .unknown()
    .refine((data) => data !== undefined, { error: 'is missing' })
    .describe('JSON that fits the schema of the signal'),
  key: plainText(LIMITS.signalNameLength)
    .min(1)
    .optional()
    .describe('of several signals with the same name and key, the job gets one'),
})

export const signalledJobSchema = z.object({ id: jobIdSchema, name: z.string() })

export const actionReportSchema = z.object({
  done: z.int(),
  /**
   * Reason → how many: INVALID_STATE, JOB_NOT_FOUND, UNIQUE_KEY_LIVE, HAS_DEPENDANTS, PARENT_LIVE, CHANGED, BUSY; of a run now also
   * ALREADY_DUE, RUNNING, BLOCKED, FINISHED, THROTTLED, SUSPENDED; of a cancel also UNDOING.
   */
  skipped: z.record(z.string(), z.int()).describe('reason → how many'),
})
export type ActionReport = Readonly<z.output<typeof actionReportSchema>>

/** What changes while a client watches a job. */
const jobStateSchema = jobSchema.pick({
  id: true,
  topic: true,
  status: true,
  run: true,
  progress: true,
  updated: true,
})

export const watchRequestSchema = z.strictObject({
  id: jobIdSchema,
  lastEventId: lastEventIdSchema.describe('id of the last message; sent by a client that reconnects'),
  events: z.boolean().default(true).describe('false: only its states'),
})

export const watchMessageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('event'), event: jobEventSchema }),
  z.object({ type: z.literal('state'), state: jobStateSchema }),
])
/** What a job's stream tells: an event, or its state. */
export type WatchMessage = z.output<typeof watchMessageSchema>

export const waitRequestSchema = z.strictObject({
  id: jobIdSchema,
  timeoutMs: z.int().min(0).max(30_000).default(30_000).describe('how long to wait'),
})

export const waitResponseSchema = z.discriminatedUnion('finished', [
  z.object({ finished: z.literal(false), status: jobStatusSchema, progress: z.unknown() }),
  z.object({
    finished: z.literal(true),
    topic: z.string(),
    status: z.enum(FINISHED_STATUSES),
    result: z.unknown(),
    error: jobErrorSchema.nullable(),
    masked: maskedSchema,
  }),
])
