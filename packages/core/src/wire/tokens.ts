import { z } from 'zod'
import { LIMITS } from '../job/limits.ts'
import { ACCESS_CLASSES, allowedQueuesSchema, allowedTopicsSchema, roleSchema } from './access.ts'
import { channelSchema } from './channels.ts'
import { idRequestSchema, nameSchema, pageOf, pageRequest, plainText } from './fields.ts'

const kindSchema = z.enum(['token', 'session', 'device'])

export const tokenSchema = z.object({
  id: z.string(),
  kind: kindSchema,
  name: z.string(),
  role: roleSchema,
  allowedTopics: z.array(z.string()).nullable().describe('topics it may enqueue; null: every topic'),
  allowedQueues: z.array(z.string()).nullable().describe('queues it may enqueue into; null: every queue'),
  /** The token that created a session or a device, which ends with it. */
  parentId: z
    .string()
    .nullable()
    .describe('the token that created a session or a device, which ends with that token'),
  created: z.date(),
  createdBy: z.string().nullable(),
  expiresAt: z.date().nullable(),
  /** A device ends then, unless it is used before. */
  idleUntil: z.date().nullable().describe('a device expires then, unless it is used before'),
  /** To the minute. */
  lastUsed: z.date().nullable().describe('to the minute'),
  revokedAt: z.date().nullable(),
})
export type Token = Readonly<z.output<typeof tokenSchema>>

export const listTokensRequestSchema = z.strictObject({
  kind: kindSchema.optional(),
  ended: z.boolean().default(false).describe('true: include expired and revoked tokens'),
})
export type ListTokensRequest = Readonly<z.input<typeof listTokensRequestSchema>>

export const createTokenRequestSchema = z.strictObject({
  name: nameSchema.describe('who or what uses it'),
  role: roleSchema,
  allowedTopics: allowedTopicsSchema.default(null).describe('topics it may enqueue; null: every topic'),
  allowedQueues: allowedQueuesSchema.default(null).describe('queues it may enqueue into; null: every queue'),
  expiresAt: z.date().max(new Date(LIMITS.dateMax)).nullable().default(null),
})

export const createdTokenSchema = tokenSchema.extend({
  secret: z.string().describe('shown only once: only its hash is stored'),
})

export const revokedTokenSchema = z.object({
  devices: z.int().describe('how many devices were revoked with it'),
})

/** `host`: signed in by the application in which the API is mounted. */
const principalKindSchema = z.enum(['anonymous', ...kindSchema.options, 'jwt', 'host'])

/** The caller, and what it may do now. */
export const meSchema = tokenSchema.pick({ name: true, allowedTopics: true, allowedQueues: true }).extend({
  /** Of the token, `sub` of the JWT, or what the host application gave; empty without credentials. */
  id: z.string(),
  kind: principalKindSchema,
  role: roleSchema.nullable(),
  /** Null: until its token ends. */
  expiresAt: z.date().nullable(),
  may: z.array(z.enum(ACCESS_CLASSES)),
})

export type Me = Readonly<z.output<typeof meSchema>>

export const signInRequestSchema = z.strictObject({ token: z.string().min(1).max(1_000) })

export const signedInSchema = z.object({ name: z.string(), role: roleSchema, expiresAt: z.date() })
export type SignedIn = Readonly<z.output<typeof signedInSchema>>

/** A device cannot be a producer: it is for reading and acting. */
export const deviceRoleSchema = roleSchema.exclude(['producer'])
export type DeviceRole = z.output<typeof deviceRoleSchema>

export const createPairingRequestSchema = z.strictObject({
  role: deviceRoleSchema.optional().describe("at most the creator's, which is the default"),
  validSeconds: z.int().min(30).max(900).default(300),
})

export const pairingSchema = z.object({
  id: z.string(),
  code: z.string().describe('shown only once; valid for one device'),
  url: z.string().describe('content of the QR code: the address of this server, and the code'),
  role: deviceRoleSchema,
  expiresAt: z.date(),
})
export type Pairing = Readonly<z.output<typeof pairingSchema>>

/** Sent by the device, which has only the code so far. */
export const exchangePairingRequestSchema = z.strictObject({
  code: z.string().min(1).max(100),
  name: nameSchema.describe('name of the device'),
})

export const deviceSchema = tokenSchema
  .pick({ id: true, name: true, role: true, created: true, createdBy: true })
  .extend({
    maker: z
      .object({ id: z.string(), kind: z.enum(['token', 'device']), name: z.string() })
      .nullable()
      .describe('the token or device that paired it, with which it ends; null: the command line, or a JWT'),
    expiresAt: z.date().nullable(),
    idleUntil: z.date().nullable().describe('the device expires then, unless it is used before'),
    lastUsed: z.date().nullable().describe('to the minute'),
    revokedAt: z.date().nullable(),
    isThis: z.boolean().describe('true: the calling device'),
    push: channelSchema
      .pick({ lastDelivered: true, failingSince: true, lastError: true })
      .nullable()
      .describe('null: no notifications'),
  })
export type Device = z.output<typeof deviceSchema>

export const pairedSchema = z.object({
  device: deviceSchema,
  secret: z.string().describe('the token of the device; shown only once'),
})

export const renameDeviceRequestSchema = idRequestSchema.extend({ name: nameSchema })

/** For the calling device. */
export const registerPushRequestSchema = z.strictObject({
  pushToken: z.string().min(1).max(255).nullable().describe('Expo push token; null: turn notifications off'),
})

/** As a browser returns it from `PushSubscription.toJSON()`. */
const subscriptionSchema = z.object({
  endpoint: z.url({ protocol: /^https?$/, error: 'must be a URL' }).max(2_000),
  keys: z.object({
    p256dh: z.string().regex(/^[\w-]{80,100}$/, 'must be a public key in base64url'),
    auth: z.string().regex(/^[\w-]{20,40}$/, 'must be a secret in base64url'),
  }),
})
export type WebPushSubscription = Readonly<z.output<typeof subscriptionSchema>>

/** For the calling browser. */
export const registerWebPushRequestSchema = z.strictObject({
  subscription: subscriptionSchema.nullable().describe('null: turn notifications off'),
})

export const webPushKeySchema = z.object({
  key: z.string().describe('the public VAPID key of this installation: `applicationServerKey`'),
  isRegistered: z.boolean().describe('this browser gets notifications'),
})

export const auditRequestSchema = z.strictObject({
  actorId: plainText(LIMITS.keyLength).optional(),
  actorKind: principalKindSchema.optional(),
  /** An action, or a prefix of actions that ends with `*`. */
  action: plainText(LIMITS.keyLength)
    .optional()
    .describe('such as jobs.requeue; ends with * to match a prefix'),
  from: z.date().optional(),
  to: z.date().optional(),
  ...pageRequest(1_000),
})
export type AuditRequest = Readonly<z.input<typeof auditRequestSchema>>

const auditEntrySchema = z.object({
  id: z.string(),
  at: z.date(),
  actor: z.object({
    /** Of the token, or what a JWT names. */
    id: z.string(),
    /** For people. */
    name: z.string(),
    /** What kind of credential it has. */
    kind: z.string(),
  }),
  /** As the API names it: `jobs.requeue`. */
  action: z.string(),
  /** What it was done to: the first ids, a filter, a name. */
  target: z.unknown(),
  /** How many jobs it changed. */
  count: z.int().nullable(),
  ip: z.string().nullable(),
  userAgent: z.string().nullable(),
  requestId: z.string().nullable(),
})
export type AuditEntry = Readonly<z.output<typeof auditEntrySchema>>

export const auditPageSchema = pageOf(auditEntrySchema)
export type AuditPage = Readonly<z.output<typeof auditPageSchema>>
