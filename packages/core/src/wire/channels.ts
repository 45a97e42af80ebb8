import { z } from 'zod'
import { idRequestSchema, nameSchema } from './fields.ts'

/** The last two belong to devices, which create them. */
export const CHANNEL_KINDS = [
  'webhook',
  'slack',
  'ntfy',
  'pagerduty',
  'opsgenie',
  'email',
  'push',
  'web_push',
] as const

export const channelSchema = z.object({
  id: z.string(),
  kind: z.enum(CHANNEL_KINDS),
  name: z.string(),
  address: z.string().describe('only what is not secret'),
  deviceId: z.string().nullable().describe('the device, or the session of a browser, that it belongs to'),
  enabled: z.boolean(),
  created: z.date(),
  createdBy: z.string().nullable(),
  lastAttempt: z.date().nullable(),
  lastDelivered: z.date().nullable(),
  lastError: z.string().nullable(),
  failingSince: z.date().nullable().describe('null: the last delivery succeeded, or there was none'),
})
export type Channel = Readonly<z.output<typeof channelSchema>>

const urlSchema = z
  .url({ protocol: /^https?$/, error: 'must be a URL that begins with https:// or http://' })
  .max(2_000)
const keySchema = z
  .string()
  .trim()
  .regex(/^[\w-]{8,200}$/, 'must be a key of letters, digits, _ and -')

/** A valid topic of ntfy, at the end of a path. */
const NTFY_TOPIC = /\/[\w-]{1,64}$/

/** Push channels are created by their devices. */
export const createChannelRequestSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['webhook', 'slack']), name: nameSchema, url: urlSchema }),
  z.strictObject({
    kind: z.literal('ntfy'),
    name: nameSchema,
    url: urlSchema
      .refine((url) => URL.canParse(url) && NTFY_TOPIC.test(new URL(url).pathname), 'must end with a topic')
      .describe('of the topic: https://ntfy.sh/my-topic'),
    priority: z.int().min(1).max(5).optional().describe('of firing alerts; 4 (high) by default'),
    token: keySchema.optional().describe('an access token of ntfy'),
  }),
  z.strictObject({
    kind: z.enum(['pagerduty', 'opsgenie']),
    name: nameSchema,
    key: keySchema.describe('the integration key of PagerDuty (Events API v2), or the API key of Opsgenie'),
  }),
  z.strictObject({ kind: z.literal('email'), name: nameSchema, to: z.email().max(320) }),
])
export type CreateChannelRequest = Readonly<z.output<typeof createChannelRequestSchema>>

export const createdChannelSchema = channelSchema.extend({
  secret: z.string().nullable().describe('signs deliveries; shown only once; null for all but webhooks'),
})

export const updateChannelRequestSchema = idRequestSchema.extend({
  name: nameSchema.optional(),
  enabled: z.boolean().optional(),
})
export type UpdateChannelRequest = Readonly<z.output<typeof updateChannelRequestSchema>>

/** The result of a test notification. */
export const deliverySchema = z.object({
  delivered: z.boolean(),
  error: z.string().nullable(),
})
