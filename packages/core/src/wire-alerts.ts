import { z } from 'zod'
import { LIMITS } from './limits.ts'
import { queueSchema } from './names.ts'
import { plainText } from './plain-text.ts'
import { timeSchema } from './wire-jobs.ts'

/** What can go wrong, and in which unit its threshold is. */
export const ALERT_KINDS = ['oldest_waiting', 'failure_rate', 'no_workers', 'stalled', 'paused'] as const
const alertKindSchema = z.enum(ALERT_KINDS)
export type AlertKind = z.output<typeof alertKindSchema>

const ruleFields = {
  name: plainText(LIMITS.keyLength).trim().min(1),
  kind: alertKindSchema.describe(
    'oldest_waiting: seconds that the longest-waiting job waits; failure_rate: share of runs that failed, 0 to 1; no_workers: workers alive, at most; stalled: jobs waiting while none is done; paused: seconds that a queue is paused',
  ),
  queue: queueSchema.nullable().describe('null: every queue, of which the alert names the worst'),
  threshold: z.number().min(0).max(1e12),
  forSeconds: z.int().min(0).max(86_400).describe('for how long it must hold before anybody is told'),
  enabled: z.boolean(),
}

export const alertRuleSchema = z.object({
  id: z.string(),
  ...ruleFields,
  builtIn: z.string().nullable().describe('its name, if it was there from the start'),
  created: z.date(),
  updated: z.date(),
  updatedBy: z.string().nullable(),
})
export type AlertRule = z.output<typeof alertRuleSchema>

export const createAlertRuleRequestSchema = z.strictObject({
  ...ruleFields,
  queue: ruleFields.queue.default(null),
  forSeconds: ruleFields.forSeconds.default(60),
  enabled: ruleFields.enabled.default(true),
})

export const updateAlertRuleRequestSchema = z.strictObject({
  id: z.uuid(),
  name: ruleFields.name.optional(),
  threshold: ruleFields.threshold.optional(),
  forSeconds: ruleFields.forSeconds.optional(),
  enabled: ruleFields.enabled.optional(),
})

export const alertRuleIdSchema = z.strictObject({ id: z.uuid() })

export const ALERT_STATES = ['firing', 'acked', 'snoozed', 'resolved'] as const

/** One episode. `state` is what to do about it: `acked` and `snoozed` still fire, but somebody knows. */
export const alertSchema = z.object({
  id: z.string(),
  ruleId: z.string(),
  kind: alertKindSchema,
  queue: z
    .string()
    .nullable()
    .describe('the worst one now, if the rule is about every queue; null: it is about the whole'),
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
  limit: z.int().min(1).max(200).default(50),
  cursor: z.string().max(1_000).optional().describe('nextCursor of the page before'),
})

export const alertPageSchema = z.object({
  items: z.array(alertSchema).describe('newest first'),
  nextCursor: z.string().nullable(),
})

export const alertIdSchema = z.strictObject({ id: z.uuid() })
export const snoozeRequestSchema = z.strictObject({
  id: z.uuid(),
  until: timeSchema.describe('at most a week from now'),
})

export const CHANNEL_KINDS = ['webhook', 'slack', 'push'] as const

export const channelSchema = z.object({
  id: z.string(),
  kind: z.enum(CHANNEL_KINDS),
  name: z.string(),
  address: z.string().describe('where to: only its beginning, since the rest is a secret'),
  deviceId: z.string().nullable().describe('the device that a push channel belongs to'),
  enabled: z.boolean(),
  created: z.date(),
  createdBy: z.string().nullable(),
  lastAttempt: z.date().nullable(),
  lastDelivered: z.date().nullable(),
  lastError: z.string().nullable(),
  failingSince: z.date().nullable().describe('null: the last one arrived, or none was sent'),
})
export type Channel = z.output<typeof channelSchema>

export const createChannelRequestSchema = z.strictObject({
  kind: z.enum(['webhook', 'slack']),
  name: plainText(LIMITS.keyLength).trim().min(1),
  url: z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with https:// or http://' })
    .max(2_000),
})

export const createdChannelSchema = channelSchema.extend({
  secret: z.string().nullable().describe('signs what is sent; shown this once; null for Slack'),
})

export const updateChannelRequestSchema = z.strictObject({
  id: z.uuid(),
  name: plainText(LIMITS.keyLength).trim().min(1).optional(),
  enabled: z.boolean().optional(),
})

export const channelIdSchema = z.strictObject({ id: z.uuid() })

/** How a test notification went. */
export const deliverySchema = z.object({
  delivered: z.boolean(),
  error: z.string().nullable(),
})
