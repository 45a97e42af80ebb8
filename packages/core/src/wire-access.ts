import { z } from 'zod'
import {
  ACCESS_CLASSES,
  allowedQueuesSchema,
  allowedTopicsSchema,
  roleSchema,
  SETTING_NAMES,
  settingsSchema,
} from './access.ts'
import { LIMITS } from './limits.ts'
import { plainText } from './plain-text.ts'

const kindSchema = z.enum(['token', 'session', 'device'])

export const tokenSchema = z.object({
  id: z.string(),
  kind: kindSchema,
  name: z.string(),
  role: roleSchema,
  allowedTopics: z.array(z.string()).nullable().describe('what it may enqueue; null: every topic'),
  allowedQueues: z.array(z.string()).nullable().describe('where it may enqueue; null: every queue'),
  parentId: z
    .string()
    .nullable()
    .describe('the token that a session or a device was made by: it ends with it'),
  created: z.date(),
  createdBy: z.string().nullable(),
  expiresAt: z.date().nullable(),
  idleUntil: z.date().nullable().describe('a device ends then, unless it is used before'),
  lastUsed: z.date().nullable().describe('to the minute'),
  revokedAt: z.date().nullable(),
})

export const listTokensRequestSchema = z.strictObject({
  kind: kindSchema.optional(),
  ended: z.boolean().default(false).describe('true: also those that expired or were revoked'),
})

export const createTokenRequestSchema = z.strictObject({
  name: plainText(LIMITS.keyLength).trim().min(1).describe('who or what uses it'),
  role: roleSchema,
  allowedTopics: allowedTopicsSchema.default(null).describe('what it may enqueue; null: every topic'),
  allowedQueues: allowedQueuesSchema.default(null).describe('where it may enqueue; null: every queue'),
  expiresAt: z.date().max(new Date(LIMITS.dateMax)).nullable().default(null),
})

export const createdTokenSchema = tokenSchema.extend({
  secret: z.string().describe('shown this once: only its hash is stored'),
})

export const tokenIdSchema = z.strictObject({ id: z.uuid() })

export const revokedTokenSchema = z.object({
  devices: z.int().describe('how many devices ended with it'),
})

const principalKindSchema = z.enum(['anonymous', 'token', 'session', 'device', 'jwt'])

/** Who I am, and what I may do now. */
export const meSchema = z.object({
  kind: principalKindSchema,
  id: z.string(),
  name: z.string(),
  role: roleSchema.nullable(),
  allowedTopics: z.array(z.string()).nullable(),
  allowedQueues: z.array(z.string()).nullable(),
  expiresAt: z.date().nullable(),
  may: z.array(z.enum(ACCESS_CLASSES)),
})

export const signInRequestSchema = z.strictObject({ token: z.string().min(1).max(1_000) })

export const auditRequestSchema = z.strictObject({
  actorId: plainText(LIMITS.keyLength).optional(),
  actorKind: principalKindSchema.optional(),
  action: plainText(LIMITS.keyLength)
    .optional()
    .describe('such as jobs.requeue; the beginning of actions with * at its end'),
  from: z.date().optional(),
  to: z.date().optional(),
  limit: z.int().min(1).max(1_000).default(50),
  cursor: z.string().max(1_000).optional().describe('nextCursor of the page before'),
})

export const auditPageSchema = z.object({
  items: z.array(
    z.object({
      id: z.string(),
      at: z.date(),
      actor: z.object({ id: z.string(), name: z.string(), kind: z.string() }),
      action: z.string(),
      target: z.unknown(),
      count: z.int().nullable(),
      ip: z.string().nullable(),
      userAgent: z.string().nullable(),
      requestId: z.string().nullable(),
    }),
  ),
  nextCursor: z.string().nullable(),
})

export const settingsResponseSchema = z.object({
  values: settingsSchema,
  sources: z.record(
    z.enum(SETTING_NAMES),
    z.object({
      from: z.enum(['default', 'environment', 'runtime']),
      updated: z.date().nullable(),
      updatedBy: z.string().nullable(),
    }),
  ),
})

export const settingsRequestSchema = z
  .strictObject({
    ...settingsSchema.partial().shape,
    reset: z.array(z.enum(SETTING_NAMES)).default([]).describe('back to what the environment says'),
  })
  .refine(
    ({ reset, ...set }) => reset.length > 0 || Object.values(set).some((value) => value !== undefined),
    {
      error: 'must name at least one setting',
    },
  )
  .refine(({ reset, ...set }) => reset.every((name) => set[name] === undefined), {
    path: ['reset'],
    error: 'names a setting that is set at the same time',
  })
