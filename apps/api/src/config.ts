import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  allowedQueuesSchema,
  allowedTopicsSchema,
  ruleSchema,
  type Settings,
  settingsSchema,
} from '@oncue/core/wire'
import { type ChosenDatabase, chooseDatabase, readCommonConfig } from '@oncue/db'
import { list, logLevel, readEnvironment, text, whole, wrongSetting } from '@oncue/db/environment'
import { z } from 'zod'

const FLAGS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  '1': true,
  false: false,
  no: false,
  off: false,
  '0': false,
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
 * A number of proxies, or their addresses. `true` means one proxy. Each proxy appends the address it saw to
 * x-forwarded-for, so entries further to the left were written by the client.
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
    `must be one of ${flags}, a number of proxies up to ${MAX_PROXIES}, or their addresses such as 10.0.0.0/8`,
  )
  return z.NEVER
})

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...more] = text.split('/')
  const most = isIP(address) === 6 ? 128 : 32
  return isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most && more.length === 0
}

/** What it returns cannot be changed in transit: it uses TLS, or is on this machine. */
function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  if (protocol === 'https:') return true
  return protocol === 'http:' && (LOOPBACK.test(hostname) || hostname === 'localhost')
}
const LOOPBACK = /^(127(\.\d+){3}|\[::1\])$/

/** As browsers send them: without a path. `*` is rejected: it would admit every website. */
const origin = z.string().refine((value) => URL.canParse(value) && new URL(value).origin === value, {
  error: 'must be origins such as https://console.example, separated by commas',
})

const MAX_RATE = 1_000_000_000

/** The published package contains the app. In the repository, it is in the output folder of its build. */
const APP_DIR = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../mobile/dist' : '../app', import.meta.url),
)

/** All variables that the API reads, apart from the common ones (`readCommonConfig`). */
const schema = z.object({
  ONCUE_HOST: text,
  ONCUE_PORT: whole(0, 65_535),
  ONCUE_ADMIN_TOKEN: text,
  ONCUE_APP_DIR: text,
  /** The name of this installation, such as production; the app shows it. */
  ONCUE_ENVIRONMENT: text.pipe(z.string().max(32, 'is longer than 32 letters').optional()),
  /** The URL of this server for people, in links and QR codes. */
  ONCUE_PUBLIC_URL: text.pipe(
    z.url({ protocol: /^https?$/, error: 'must be a URL such as https://oncue.example' }).optional(),
  ),
  /** Channels may use private addresses, and http://. */
  ONCUE_WEBHOOK_PRIVATE_ADDRESSES: flag,
  /** Expo's push service, or one with the same protocol. */
  ONCUE_PUSH_URL: text.pipe(z.url({ protocol: /^https?$/, error: 'must be a URL' }).optional()),
  ONCUE_PUSH_TOKEN: text,
  /** The mail server, with user and password; and the sender of its mails. */
  ONCUE_SMTP_URL: text.pipe(
    z
      .url({ protocol: /^smtps?$/, error: 'must be a URL such as smtps://user:password@mail.example' })
      .optional(),
  ),
  ONCUE_MAIL_FROM: text.pipe(z.email('must be an e-mail address such as oncue@example.com').optional()),
  /** PagerDuty's and Opsgenie's APIs; in the EU https://api.eu.opsgenie.com. */
  ONCUE_PAGERDUTY_URL: text.pipe(z.url({ protocol: /^https?$/, error: 'must be a URL' }).optional()),
  ONCUE_OPSGENIE_URL: text.pipe(z.url({ protocol: /^https?$/, error: 'must be a URL' }).optional()),
  ONCUE_CORS_ORIGINS: list.pipe(z.array(origin).optional()),
  /** Proxies whose x-forwarded-* headers are trusted: how many, or their addresses. */
  ONCUE_TRUST_PROXY: proxies,
  /** Requests per minute. */
  ONCUE_RATE_LIMIT: whole(1, MAX_RATE),
  ONCUE_RATE_LIMIT_ADDRESS: whole(1, MAX_RATE),
  ONCUE_RATE_LIMIT_SEARCH: whole(1, MAX_RATE),
  ONCUE_LOG_LEVEL: logLevel,

  // Initial values of settings that an admin can change at run time. An empty rule means admins only.
  ONCUE_ENQUEUE_RULE: ruleSchema.optional(),
  ONCUE_MANAGE_RULE: ruleSchema.optional(),
  ONCUE_ALLOWED_TOPICS: list.pipe(allowedTopicsSchema.unwrap().optional()),
  ONCUE_ALLOWED_QUEUES: list.pipe(allowedQueuesSchema.unwrap().optional()),
  ONCUE_HTTP_ENABLED: flag,
  ONCUE_OPERATORS_EDIT_PAYLOADS: flag,
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

/** `database`: the one that a command has chosen. */
export function readConfig(
  env: NodeJS.ProcessEnv = process.env,
  cwd = process.cwd(),
  database: ChosenDatabase = databaseOf(env, cwd),
) {
  const values = readEnvironment(schema, env)
  return {
    databaseUrl: database.url,
    /** Which of several installations in that database. */
    schema: database.schema,
    /** `databaseUrl` for people, without its password. */
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
      pushUrl: withoutSlash(values.ONCUE_PUSH_URL ?? 'https://exp.host'),
      pushAccessToken: values.ONCUE_PUSH_TOKEN ?? null,
      incidents: {
        pagerDuty: withoutSlash(values.ONCUE_PAGERDUTY_URL ?? 'https://events.pagerduty.com'),
        opsgenie: withoutSlash(values.ONCUE_OPSGENIE_URL ?? 'https://api.opsgenie.com'),
      },
      mail: readMail(values),
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

/** The settings of an API that is mounted in another server, where these may be given in code. */
export interface MountSettings {
  /** The database. Default: `DATABASE_URL`. */
  readonly url?: string | undefined
  /** Which installation in it. Default: `ONCUE_SCHEMA`, or `oncue`. */
  readonly schema?: string | undefined
  /** The address with its path, as in `https://shop.example/admin/jobs`: for links in alerts. Default: `ONCUE_PUBLIC_URL`. */
  readonly publicUrl?: string | undefined
  /** The name that the app shows. Default: `ONCUE_ENVIRONMENT`. */
  readonly environment?: string | undefined
}

/** The application that it is mounted in has its own pages, and its own admins. */
export function readMountConfig(
  { url, schema, publicUrl, environment }: MountSettings,
  env: NodeJS.ProcessEnv = process.env,
): Config {
  const given = {
    DATABASE_URL: url,
    ONCUE_SCHEMA: schema,
    ONCUE_PUBLIC_URL: publicUrl,
    ONCUE_ENVIRONMENT: environment,
  }
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  const config = readConfig({ ...env, ...Object.fromEntries(set) })
  return { ...config, adminToken: undefined, corsOrigins: [] }
}

const withoutSlash = (url: string) => url.replace(/\/+$/, '')

function readMail({ ONCUE_SMTP_URL: url, ONCUE_MAIL_FROM: from }: z.output<typeof schema>) {
  if (url === undefined) return null
  if (from === undefined) throw wrongSetting('ONCUE_SMTP_URL needs ONCUE_MAIL_FROM')
  return { url, from }
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
    operatorsEditPayloads: values.ONCUE_OPERATORS_EDIT_PAYLOADS,
    payloadValidation: values.ONCUE_PAYLOAD_VALIDATION,
    maskedKeys: values.ONCUE_MASKED_KEYS,
    deviceIdleDays: values.ONCUE_DEVICE_IDLE_DAYS,
  }
}

function readJwt(values: z.output<typeof schema>) {
  const { ONCUE_JWKS_URL: jwksUrl, ONCUE_JWT_ISSUER: issuer, ONCUE_JWT_AUDIENCE: audience } = values
  if (jwksUrl === undefined) return undefined
  if (issuer === undefined || audience === undefined) {
    throw wrongSetting('ONCUE_JWKS_URL needs ONCUE_JWT_ISSUER and ONCUE_JWT_AUDIENCE')
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
