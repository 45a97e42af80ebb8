import { z } from 'zod'
import { idRequestSchema, nameSchema } from './fields.ts'

export const channelSchema = z.object({
  id: z.string(),
  kind: z.enum(['webhook', 'slack', 'push']),
  name: z.string(),
  address: z.string().describe('only the beginning: the rest is secret'),
  deviceId: z.string().nullable().describe('the device that a push channel belongs to'),
  enabled: z.boolean(),
  created: z.date(),
  createdBy: z.string().nullable(),
  lastAttempt: z.date().nullable(),
  lastDelivered: z.date().nullable(),
  lastError: z.string().nullable(),
  failingSince: z.date().nullable().describe('null: the last delivery succeeded, or there was none'),
})
export type Channel = Readonly<z.output<typeof channelSchema>>

export const createChannelRequestSchema = z.strictObject({
  /** Push channels are made by their devices. */
  kind: channelSchema.shape.kind.exclude(['push']),
  name: nameSchema,
  url: z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with https:// or http://' })
    .max(2_000),
})
export type CreateChannelRequest = Readonly<z.output<typeof createChannelRequestSchema>>

export const createdChannelSchema = channelSchema.extend({
  secret: z.string().nullable().describe('signs deliveries; shown only once; null for Slack'),
})

export const updateChannelRequestSchema = idRequestSchema.extend({
  name: nameSchema.optional(),
  enabled: z.boolean().optional(),
})
export type UpdateChannelRequest = Readonly<z.output<typeof updateChannelRequestSchema>>

/** How a test notification went. */
export const deliverySchema = z.object({
  delivered: z.boolean(),
  error: z.string().nullable(),
})
