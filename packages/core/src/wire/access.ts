import { z } from 'zod'
import { LIMITS } from '../job/limits.ts'
import { queueSchema, topicSchema } from '../job/names.ts'

export const ROLES = ['producer', 'viewer', 'operator', 'admin'] as const
/** What a token may do. */
export type Role = (typeof ROLES)[number]
export const roleSchema = z.enum(ROLES)

/** What a call does; every procedure and route has one. `edit`: gives an existing job another payload. */
export const ACCESS_CLASSES = ['enqueue', 'read', 'act', 'edit', 'admin'] as const
export type AccessClass = (typeof ACCESS_CLASSES)[number]

const PERMITTED: Readonly<Record<Role, readonly AccessClass[]>> = {
  producer: ['enqueue'],
  viewer: ['read'],
  operator: ['enqueue', 'read', 'act', 'edit'],
  admin: ACCESS_CLASSES,
}

const SIGNED_IN = "@request.auth.id != ''"

const RULE_ERROR = `must be "" (admins only), "true" (everyone), "${SIGNED_IN}" (everyone signed in) or a role: ${ROLES.join(', ')}`

/** Who may enqueue, or read and act. The first three are spelled as in PocketBase. */
export const ruleSchema = z.enum(['', 'true', SIGNED_IN, ...ROLES], { error: RULE_ERROR })
export type AccessRule = z.output<typeof ruleSchema>

/** Who passes a rule that names a role: callers whose role permits at least as much. */
const PASSES: Readonly<Record<Role, readonly Role[]>> = {
  producer: ['producer', 'operator', 'admin'],
  viewer: ['viewer', 'operator', 'admin'],
  operator: ['operator', 'admin'],
  admin: ['admin'],
}

/** The caller, as far as access is concerned. `role` is null without a token, and for a JWT that names none. */
export type Caller = { readonly signedIn: boolean; readonly role: Role | null }

function passes(rule: AccessRule, { signedIn, role }: Caller): boolean {
  if (rule === '') return role === 'admin'
  if (rule === 'true') return true
  if (rule === SIGNED_IN) return signedIn
  return role !== null && PASSES[rule].includes(role)
}

function permits(role: Role | null, access: AccessClass): boolean {
  return role === null ? access !== 'admin' && access !== 'edit' : PERMITTED[role].includes(access)
}

/** Whether a role permits no more than another does. */
export function isAtMost(role: Role, other: Role | null): boolean {
  return other !== null && PERMITTED[role].every((access) => PERMITTED[other].includes(access))
}

/** Both must agree: a rule may open a call to many, but no role can do what it is not meant for. */
export function allows(
  rules: Pick<Settings, 'enqueueRule' | 'manageRule' | 'operatorsEditPayloads'>,
  caller: Caller,
  access: AccessClass,
): boolean {
  if (!permits(caller.role, access)) return false
  if (access === 'admin') return true
  if (access === 'edit') {
    // Another payload makes another job of it: it takes the right to enqueue as well.
    if (!passes(rules.enqueueRule, caller)) return false
    if (caller.role !== 'admin' && !rules.operatorsEditPayloads) return false
  }
  return passes(access === 'enqueue' ? rules.enqueueRule : rules.manageRule, caller)
}

/** A topic, or a prefix of topics that ends with `*`. */
export const topicPatternSchema = z
  .string()
  .max(LIMITS.topicLength)
  // There must be a topic that can match it.
  .refine((pattern) => topicSchema.safeParse(pattern.replace(/\*$/, 'x')).success, {
    error: 'must be a topic, or the beginning of one followed by *',
  })

/** `null` means all. */
export const allowedTopicsSchema = z.array(topicPatternSchema).max(1_000).nullable()

/** A queue, or a prefix of queues that ends with `*`. */
const queuePatternSchema = z
  .string()
  .max(LIMITS.queueLength)
  .refine((pattern) => queueSchema.safeParse(pattern.replace(/\*$/, 'x')).success, {
    error: 'must be a queue, or the beginning of one followed by *',
  })

/** `null` means all. */
export const allowedQueuesSchema = z.array(queuePatternSchema).max(1_000).nullable()

/** Whether a topic or a queue is allowed. */
export function allowsName(patterns: readonly string[] | null, name: string): boolean {
  if (patterns === null) return true
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  )
}

export const settingsSchema = z.strictObject({
  httpEnabled: z.boolean().describe('false: the API serves admins only'),
  enqueueRule: ruleSchema.describe('who may enqueue'),
  manageRule: ruleSchema.describe('who may read and, if the role permits it, act'),
  allowedTopics: allowedTopicsSchema.describe(
    'topics that may be enqueued through the API; null: every topic',
  ),
  allowedQueues: allowedQueuesSchema.describe(
    'queues into which jobs may be enqueued through the API; null: every queue',
  ),
  operatorsEditPayloads: z
    .boolean()
    .describe('true: operators, and not only admins, may requeue a job with another payload'),
  payloadValidation: z
    .enum(['reject', 'warn', 'off'])
    .describe('what to do with a payload that does not fit the announced schema'),
  maskedKeys: z
    .array(
      z
        .string()
        .min(1)
        .max(64)
        .regex(/[\p{L}\p{N}]/u, 'must contain a letter or a digit'),
    )
    .max(200)
    .describe('keys whose values only admins see'),
  deviceIdleDays: z.int().min(1).max(3_650).describe('days without use after which a device is signed out'),
})
export type Settings = z.output<typeof settingsSchema>
export type SettingName = keyof Settings

export const SETTING_NAMES = Object.keys(settingsSchema.shape) as SettingName[]

/** Closed: nothing is open to callers without a token. */
export const DEFAULT_SETTINGS: Settings = {
  httpEnabled: true,
  enqueueRule: 'producer',
  manageRule: 'viewer',
  allowedTopics: null,
  allowedQueues: null,
  operatorsEditPayloads: false,
  payloadValidation: 'reject',
  maskedKeys: [
    'password',
    'passwd',
    'passphrase',
    'secret',
    'token',
    'authorization',
    'api_key',
    'access_key',
    'private_key',
    'credentials',
    'cookie',
    'credit_card',
    'card_number',
    'cvv',
    'ssn',
  ],
  deviceIdleDays: 90,
}

const settingSourceSchema = z.object({
  from: z.enum(['default', 'environment', 'runtime']),
  /** When an admin set it at run time. */
  updated: z.date().nullable(),
  updatedBy: z.string().nullable(),
})
export type SettingSource = Readonly<z.output<typeof settingSourceSchema>>

export const settingsResponseSchema = z.object({
  values: settingsSchema,
  sources: z.record(z.enum(SETTING_NAMES), settingSourceSchema),
})

export const settingsRequestSchema = z
  .strictObject({
    ...settingsSchema.partial().shape,
    reset: z
      .array(z.enum(SETTING_NAMES))
      .default([])
      .describe('settings to reset to the value from the environment'),
  })
  .refine(
    ({ reset, ...set }) => reset.length > 0 || Object.values(set).some((value) => value !== undefined),
    {
      error: 'must name at least one setting',
    },
  )
  .refine(({ reset, ...set }) => reset.every((name) => set[name] === undefined), {
    path: ['reset'],
    error: 'contains a setting that is also being set',
  })
