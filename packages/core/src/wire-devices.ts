import { z } from 'zod'
import { roleSchema } from './access.ts'
import { LIMITS } from './limits.ts'
import { plainText } from './plain-text.ts'

/** A device cannot be a producer: it is there to look and act. */
export const deviceRoleSchema = roleSchema.exclude(['producer'])

export const createPairingRequestSchema = z.strictObject({
  role: deviceRoleSchema.optional().describe("at most the maker's, which is the default"),
  validSeconds: z.int().min(30).max(900).default(300),
})

export const pairingSchema = z.object({
  id: z.string(),
  code: z.string().describe('shown this once; good for one device'),
  url: z.string().describe('what a QR code carries: the address of this server, and the code'),
  role: deviceRoleSchema,
  expiresAt: z.date(),
})

/** By the device, which has nothing yet but the code. */
export const exchangePairingRequestSchema = z.strictObject({
  code: z.string().min(1).max(100),
  name: plainText(LIMITS.keyLength).trim().min(1).describe('what the device is called'),
})

export const deviceSchema = z.object({
  id: z.string(),
  name: z.string(),
  role: roleSchema,
  created: z.date(),
  createdBy: z.string().nullable(),
  maker: z
    .object({ id: z.string(), kind: z.enum(['token', 'device']), name: z.string() })
    .nullable()
    .describe('what paired it, and what it ends with; null: the command line, or a JWT'),
  expiresAt: z.date().nullable(),
  idleUntil: z.date().nullable().describe('it ends then, unless it is used before'),
  lastUsed: z.date().nullable().describe('to the minute'),
  revokedAt: z.date().nullable(),
  isThis: z.boolean().describe('true: the device that asks'),
  push: z
    .object({
      lastDelivered: z.date().nullable(),
      failingSince: z.date().nullable(),
      lastError: z.string().nullable(),
    })
    .nullable()
    .describe('null: it is sent no notifications'),
})
export type Device = z.output<typeof deviceSchema>

export const pairedSchema = z.object({
  device: deviceSchema,
  secret: z.string().describe('the token of the device; shown this once'),
})

export const deviceIdSchema = z.strictObject({ id: z.uuid() })
export const renameDeviceRequestSchema = z.strictObject({
  id: z.uuid(),
  name: plainText(LIMITS.keyLength).trim().min(1),
})
/** Of the device that asks. */
export const registerPushRequestSchema = z.strictObject({
  pushToken: z.string().min(1).max(255).nullable().describe('of Expo; null: no notifications any more'),
})
