import { z } from 'zod'
import { queueSchema, topicSchema } from '../job/names.ts'
import { idRequestSchema, nameSchema, pageOf, pageRequest, timeSchema } from './fields.ts'

/** The kinds of alerts, and the unit of their thresholds. */
export const ALERT_KINDS = [
  'oldest_waiting',
  'failure_rate',
  'no_workers',
  'stalled',
  'paused',
  'new_error',
  'topic_failure_rate',
] as const
const alertKindSchema = z.enum(ALERT_KINDS)
export type AlertKind = z.output<typeof alertKindSchema>

const ruleFields = {
  name: nameSchema,
  kind: alertKindSchema.describe(
    'oldest_waiting: seconds that the oldest job waits; failure_rate: share of runs that failed, 0 to 1; no_workers: at most this many workers alive; stalled: jobs that wait while none finishes; paused: seconds that a queue is paused; new_error: days for which an error was not seen before it appears; topic_failure_rate: as failure_rate, of one topic',
  ),
  queue: queueSchema.nullable().describe('null: all queues; the alert names the worst one'),
  topic: topicSchema.nullable().describe('for topic_failure_rate, and only for it'),
  threshold: z.number().min(0).max(1e12),
  forSeconds: z.int().min(0).max(86_400).describe('how long the condition must last before it fires'),
  enabled: z.boolean(),
}

export const alertRuleSchema = z.object({
  id: z.string(),
  ...ruleFields,
  builtIn: z.string().nullable().describe('the name of a built-in rule; null: created by a user'),
  created: z.date(),
  updated: z.date(),
  updatedBy: z.string().nullable(),
})
export type AlertRule = Readonly<z.output<typeof alertRuleSchema>>

export const createdAlertRuleSchema = alertRuleSchema.extend({
  warning: z
    .string()
    .nullable()
    .describe('what may be wrong with the rule: no such queue or topic is known; null: nothing'),
})

export const createAlertRuleRequestSchema = z.strictObject({
  ...ruleFields,
  queue: ruleFields.queue.default(null),
  topic: ruleFields.topic.default(null),
  forSeconds: ruleFields.forSeconds.default(60),
  enabled: ruleFields.enabled.default(true),
})

export const updateAlertRuleRequestSchema = idRequestSchema.extend({
  name: ruleFields.name.optional(),
  threshold: ruleFields.threshold.optional(),
  forSeconds: ruleFields.forSeconds.optional(),
  enabled: ruleFields.enabled.optional(),
})

export const ALERT_STATES = ['firing', 'acked', 'snoozed', 'resolved'] as const

/** One episode. `state` says what to do about it: `acked` and `snoozed` still fire, but are known. */
export const alertSchema = z.object({
  id: z.string(),
  ruleId: z.string(),
  groupId: z.string().describe('alerts of one cause have the same, and are announced together'),
  kind: alertKindSchema,
  queue: z
    .string()
    .nullable()
    .describe('the worst queue, if the rule is about all queues; null: about the whole installation'),
  queues: z.array(z.string()).describe('all queues that it is about, at most 100'),
  topic: z.string().nullable().describe('for topic_failure_rate and new_error'),
  fingerprint: z.string().nullable().describe('for new_error: the group of failures'),
  state: z.enum(ALERT_STATES),
  summary: z.string().describe('one sentence: "mail: oldest job waits 12 min (limit 5 min)"'),
  value: z.number().describe('in the unit of its kind'),
  threshold: z.number(),
  firedAt: z.date(),
  acked: z.object({ at: z.date(), by: z.string() }).nullable(),
  snoozed: z.object({ until: z.date(), by: z.string() }).nullable(),
  resolvedAt: z.date().nullable(),
  updated: z.date(),
})
export type Alert = z.output<typeof alertSchema>

export const listAlertsRequestSchema = z.strictObject({
  state: z.enum(['open', 'resolved']).optional().describe('open: firing, acked or snoozed'),
  queue: queueSchema.optional(),
  ...pageRequest(200),
})
export type ListAlertsRequest = Readonly<z.input<typeof listAlertsRequestSchema>>

/** How many alerts are open. */
export const alertCountsSchema = z.object({ firing: z.int(), acked: z.int(), snoozed: z.int() })

export const alertPageSchema = pageOf(alertSchema)

/** One alert, or several: those that have been resolved are left out. */
export const ackRequestSchema = z
  .strictObject({
    id: z.uuid().optional(),
    ids: z.array(z.uuid()).min(1).max(200).optional().describe('instead of id'),
  })
  .refine(({ id, ids }) => (id === undefined) !== (ids === undefined), {
    path: ['id'],
    error: 'give either id or ids',
  })

export const ackedAlertsSchema = alertSchema.extend({
  alerts: z.array(alertSchema).describe('all that are acknowledged now; the other fields are of the first'),
})

export const snoozeRequestSchema = idRequestSchema.extend({
  until: timeSchema.describe('at most a week from now'),
})

/** Over how long the share of failures is counted, and the least number of runs. */
export const FAILURE_WINDOW_MS = 15 * 60_000
export const FAILURE_MIN_RUNS = 20

/** Jobs wait, and none finished for this long: stalled. */
export const STALL_WINDOW_MS = 5 * 60_000

/** How long an error is new. */
export const NEW_ERROR_WINDOW_MS = 60 * 60_000

/** The rules that every installation begins with; thresholds in the units of their kinds. */
export const DEFAULT_ALERT_RULES = {
  oldest_waiting: { name: 'Jobs wait too long', threshold: 300, forSeconds: 60 },
  failure_rate: { name: 'Too many jobs fail', threshold: 0.1, forSeconds: 120 },
  no_workers: { name: 'No workers are alive', threshold: 0, forSeconds: 60 },
  // Together with the window as long as a run may take by default, so that one long run does not alert.
  stalled: { name: 'Queue is stalled', threshold: 1, forSeconds: 300 },
  paused: { name: 'Queue paused too long', threshold: 3_600, forSeconds: 0 },
} as const satisfies Readonly<
  Partial<
    Record<AlertKind, { readonly name: string; readonly threshold: number; readonly forSeconds: number }>
  >
>
