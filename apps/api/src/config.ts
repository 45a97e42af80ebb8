import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OncueError } from '@oncue/core'
import {
  allowedQueuesSchema,
  allowedTopicsSchema,
  ruleSchema,
  type Settings,
  settingsSchema,
} from '@oncue/core/wire'
import { type ChosenDatabase, chooseDatabase, readCommonConfig } from '@oncue/db'
import { z } from 'zod'

/** An empty variable is one that is not set, as in a compose file. */
const text = z
  .string()
  .optional()
  .transform((value) => value || undefined)

const list = text.transform((value) =>
  value
    ?.split(',')
    .map((item) => item.trim())
    .filter(Boolean),
)

const FLAGS: Readonly<Record<string, boolean>> = {
  ...{ true: true, yes: true, on: true, '1': true },
  ...{ false: false, no: false, off: false, '0': false },
}

const flag = text.transform((value, context) => {
  if (value === undefined) return undefined
  const name = value.toLowerCase()
  if (Object.hasOwn(FLAGS, name)) return FLAGS[name]
  context.addIssue(`must be one of ${Object.keys(FLAGS).join(', ')}`)
  return z.NEVER
})

const MAX_PROXIES = 32

/**
 * A number of proxies, or their addresses. `true` is one: each proxy appends what it saw, so what is further to
 * the left was written by the client.
 */
const proxies = text.transform((value, context): number | string[] | false => {
  const name = value?.toLowerCase() ?? 'false'
  if (Object.hasOwn(FLAGS, name)) return FLAGS[name] ? 1 : false
  const hops = Number(name)
  if (Number.isInteger(hops) && hops > 0 && hops <= MAX_PROXIES) return hops
  const addresses = name.split(',').map((address) => address.trim())
  if (addresses.every((address) => isIP(address) !== 0 || isCidr(address))) return addresses
  const flags = Object.keys(FLAGS).join(', ')
  context.addIssue(
    `is none of ${flags}, a number of proxies up to ${MAX_PROXIES}, or their addresses such as 10.0.0.0/8`,
  )
  return z.NEVER
})

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...more] = text.split('/')
  const most = isIP(address) === 6 ? 128 : 32
  return isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most && more.length === 0
}

/** What is read from it cannot be changed on its way: over TLS, or without a way. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  if (protocol === 'https:') return true
  return protocol === 'http:' && (LOOPBACK.test(hostname) || hostname === 'localhost')
}
const LOOPBACK = /^(127(\.\d+){3}|\[::1\])$/

/** As browsers send them: without a path, and no `*`, which would let in every page there is. */
const origin = z.string().refine((value) => URL.canParse(value) && new URL(value).origin === value, {
  error: 'must be origins such as https://console.example, separated by commas',
})

function whole(min: number, max: number) {
  return text.transform((value, context) => {
    if (value === undefined) return undefined
    const number = Number(value)
    if (Number.isInteger(number) && number >= min && number <= max) return number
    context.addIssue(`must be a whole number from ${min} to ${max}`)
    return z.NEVER
  })
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
const MAX_RATE = 1_000_000_000

/** The published package has the app inside; in the repository it is where its own build puts it. */
const APP_DIR = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../mobile/dist' : '../app', import.meta.url),
)

/** Everything that the API reads from its environment, beside what is common to all of Oncue. */
const schema = z.object({
  ONCUE_HOST: text,
  ONCUE_PORT: whole(0, 65_535),
  ONCUE_ADMIN_TOKEN: text,
  ONCUE_APP_DIR: text,
  /** Its name, such as production: people see it before they act. */
  ONCUE_ENVIRONMENT: text.pipe(z.string().max(32, 'is longer than 32 letters').optional()),
  /** Where people reach this server: in links and QR codes. */
  ONCUE_PUBLIC_URL: text.pipe(
    z.url({ protocol: /^https?$/, error: 'must be a URL such as https://oncue.example' }).optional(),
  ),
  /** Channels may lead into our own network, also without TLS. */
  ONCUE_WEBHOOK_PRIVATE_ADDRESSES: flag,
  /** Where phones are reached: Expo's push service, or one that speaks as it does. */
  ONCUE_PUSH_URL: text.pipe(z.url({ protocol: /^https?$/, error: 'is no URL' }).optional()),
  ONCUE_PUSH_TOKEN: text,
  ONCUE_CORS_ORIGINS: list.pipe(z.array(origin).optional()),
  /** Behind proxies whose x-forwarded-* headers are true: how many, or their addresses. */
  ONCUE_TRUST_PROXY: proxies,
  /** Requests a minute. */
  ONCUE_RATE_LIMIT: whole(1, MAX_RATE),
  ONCUE_RATE_LIMIT_ADDRESS: whole(1, MAX_RATE),
  ONCUE_RATE_LIMIT_SEARCH: whole(1, MAX_RATE),
  ONCUE_LOG_LEVEL: text.pipe(
    z.enum(LOG_LEVELS, { error: `is none of ${LOG_LEVELS.join(', ')}` }).default('info'),
  ),

  // The first values of what an admin can change at run time. An empty rule means admins only.
  ONCUE_ENQUEUE_RULE: ruleSchema.optional(),
  ONCUE_MANAGE_RULE: ruleSchema.optional(),
  ONCUE_ALLOWED_TOPICS: list.pipe(allowedTopicsSchema.unwrap().optional()),
  ONCUE_ALLOWED_QUEUES: list.pipe(allowedQueuesSchema.unwrap().optional()),
  ONCUE_HTTP_ENABLED: flag,
  ONCUE_PAYLOAD_VALIDATION: text.pipe(settingsSchema.shape.payloadValidation.optional()),
  ONCUE_MASKED_KEYS: list.pipe(settingsSchema.shape.maskedKeys.optional()),
  ONCUE_DEVICE_IDLE_DAYS: whole(1, 3_650),

  ONCUE_JWKS_URL: text.pipe(
    z
      .string()
      .refine(
        isSafeUrl,
        'must be an https:// URL (http:// only for this machine): its keys decide who is an admin',
      )
      .optional(),
  ),
  ONCUE_JWT_ISSUER: text,
  ONCUE_JWT_AUDIENCE: text,
  ONCUE_JWT_ROLE_CLAIM: text,
  ONCUE_JWT_TOPICS_CLAIM: text,
  ONCUE_JWT_QUEUES_CLAIM: text,
})

export type Config = ReturnType<typeof readConfig>

/** `database`: chosen already, by a command. */
export function readConfig(
  env: NodeJS.ProcessEnv = process.env,
  cwd = process.cwd(),
  database: ChosenDatabase = databaseOf(env, cwd),
) {
  const parsed = schema.safeParse(env)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const name = String(issue?.path[0])
    throw wrong(`${name}=${env[name]} ${issue?.message}`)
  }
  const values = parsed.data
  return {
    databaseUrl: database.url,
    /** Which of several installations in it. */
    schema: database.schema,
    /** The same for people, without its password. */
    database: database.shown,
    host: values.ONCUE_HOST ?? '127.0.0.1',
    port: values.ONCUE_PORT ?? 4400,
    adminToken: values.ONCUE_ADMIN_TOKEN,
    appDir: values.ONCUE_APP_DIR === undefined ? APP_DIR : resolve(cwd, values.ONCUE_APP_DIR),
    environment: values.ONCUE_ENVIRONMENT ?? null,
    corsOrigins: values.ONCUE_CORS_ORIGINS ?? [],
    publicUrl: values.ONCUE_PUBLIC_URL?.replace(/\/+$/, '') ?? null,
    delivery: {
      allowPrivateAddresses: values.ONCUE_WEBHOOK_PRIVATE_ADDRESSES ?? false,
      pushUrl: (values.ONCUE_PUSH_URL ?? 'https://exp.host').replace(/\/+$/, ''),
      pushAccessToken: values.ONCUE_PUSH_TOKEN ?? null,
    },
    trustProxy: values.ONCUE_TRUST_PROXY,
    ratePerToken: values.ONCUE_RATE_LIMIT ?? 20_000,
    ratePerAddress: values.ONCUE_RATE_LIMIT_ADDRESS ?? 2_000,
    searchesPerToken: values.ONCUE_RATE_LIMIT_SEARCH ?? 120,
    logLevel: values.ONCUE_LOG_LEVEL,
    settings: readSettings(values),
    jwt: readJwt(values),
  }
}

function readSettings(values: z.output<typeof schema>): {
  [Name in keyof Settings]?: Settings[Name] | undefined
} {
  return {
    httpEnabled: values.ONCUE_HTTP_ENABLED,
    enqueueRule: values.ONCUE_ENQUEUE_RULE,
    manageRule: values.ONCUE_MANAGE_RULE,
    allowedTopics: values.ONCUE_ALLOWED_TOPICS,
    allowedQueues: values.ONCUE_ALLOWED_QUEUES,
    payloadValidation: values.ONCUE_PAYLOAD_VALIDATION,
    maskedKeys: values.ONCUE_MASKED_KEYS,
    deviceIdleDays: values.ONCUE_DEVICE_IDLE_DAYS,
  }
}

function readJwt(values: z.output<typeof schema>) {
  const { ONCUE_JWKS_URL: jwksUrl, ONCUE_JWT_ISSUER: issuer, ONCUE_JWT_AUDIENCE: audience } = values
  if (jwksUrl === undefined) return undefined
  if (issuer === undefined || audience === undefined) {
    throw wrong('ONCUE_JWKS_URL needs ONCUE_JWT_ISSUER and ONCUE_JWT_AUDIENCE')
  }
  return {
    jwksUrl,
    issuer,
    audience,
    roleClaim: values.ONCUE_JWT_ROLE_CLAIM ?? 'role',
    topicsClaim: values.ONCUE_JWT_TOPICS_CLAIM ?? 'topics',
    queuesClaim: values.ONCUE_JWT_QUEUES_CLAIM ?? 'queues',
  }
}

function databaseOf(env: NodeJS.ProcessEnv, cwd: string): ChosenDatabase {
  const { databaseUrl: configured, nodeEnv, schema } = readCommonConfig(env, cwd)
  return chooseDatabase({ configured, nodeEnv, schema })
}

function wrong(message: string): OncueError {
  return new OncueError('INVALID_INPUT', message, { hint: 'Correct this environment variable.' })
}
