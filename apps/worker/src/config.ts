import { DEFAULTS, type RetryOptions } from '@oncue/core'
import { retryOptionsSchema } from '@oncue/core/internal'
import { readCommonConfig } from '@oncue/db'
import {
  type Environment,
  list,
  logLevel,
  readEnvironment,
  text,
  whole,
  wrongSetting,
} from '@oncue/db/environment'
import { parseDuration } from '@oncue/runtime'
import { z } from 'zod'
import { LEAST_CONNECTIONS } from './connections.ts'
import { DEFAULT_MAX_POLL_MS, LEAST_MAX_POLL_MS } from './poll.ts'
import { serviceSchema, versionSchema } from './service.ts'

const DURATION = '500ms, 30s, 5m, 2h, 7d, or milliseconds'

const duration = text.transform((value, context) => {
  if (value === undefined) return undefined
  const ms = parseDuration(value)
  if (ms === null) context.addIssue(`must be a duration, such as ${DURATION}`)
  return ms ?? z.NEVER
})

const poll = text.transform((value, context) => {
  if (value === undefined) return undefined
  if (value === 'auto') return 'auto' as const
  const ms = parseDuration(value)
  if (ms === null) context.addIssue(`must be a duration, such as ${DURATION}, or auto`)
  return ms ?? z.NEVER
})

const maxPoll = duration.refine((ms) => ms === undefined || ms >= LEAST_MAX_POLL_MS, 'must be at least 1m')

const retention = text.transform((value, context) => {
  if (value === undefined) return undefined
  const ms = value === 'forever' ? Number.POSITIVE_INFINITY : parseDuration(value)
  if (ms === null) context.addIssue(`must be a duration, such as ${DURATION}, or forever`)
  return ms ?? z.NEVER
})

/** All variables that the worker and the commands read, apart from the common ones (`readCommonConfig`). */
const schema = z.object({
  ONCUE_URL: text,
  ONCUE_TOKEN: text,
  ONCUE_IMPORT: list,
  ONCUE_SERVICE: text.pipe(serviceSchema.optional()),
  ONCUE_VERSION: text.pipe(versionSchema.optional()),
  ONCUE_QUEUES: list,
  ONCUE_CONCURRENCY: whole(1, 1_000),
  ONCUE_CONNECTIONS: whole(LEAST_CONNECTIONS, 1_000),
  ONCUE_POLL: poll,
  ONCUE_POLL_INTERVAL: poll,
  ONCUE_POLL_MAX: maxPoll,
  ONCUE_LEASE: duration,
  ONCUE_GRACE: duration,
  ONCUE_RETRY_STRATEGY: text,
  ONCUE_RETRY_BASE_DELAY: duration,
  ONCUE_RETRY_MIN_DELAY: duration,
  ONCUE_RETRY_MAX_DELAY: duration,
  ONCUE_RETRY_MAX: whole(0, 1_000),
  ONCUE_RETENTION_COMPLETED: retention,
  ONCUE_RETENTION_FAILED: retention,
  ONCUE_RETENTION_CANCELLED: retention,
  ONCUE_METRICS_PORT: whole(0, 65_535),
  ONCUE_METRICS_HOST: text,
  ONCUE_LOG_LEVEL: logLevel,
})

export type Config = ReturnType<typeof readConfig>

export function readConfig(env: Environment = process.env, cwd = process.cwd()) {
  const values = readEnvironment(schema, env)
  return {
    ...readCommonConfig(env, cwd),
    /** URL of the API, for links and QR codes. */
    serverUrl: values.ONCUE_URL,
    /** For the API, where a command calls it. */
    token: values.ONCUE_TOKEN,
    imports: values.ONCUE_IMPORT ?? [],
    /** The service that this worker belongs to. */
    service: values.ONCUE_SERVICE,
    /** The release of that service. */
    version: values.ONCUE_VERSION,
    queues: values.ONCUE_QUEUES,
    concurrency: values.ONCUE_CONCURRENCY ?? DEFAULTS.concurrency,
    /** Postgres: the most connections that the worker may hold. */
    connections: values.ONCUE_CONNECTIONS,
    pollMs: values.ONCUE_POLL ?? values.ONCUE_POLL_INTERVAL ?? DEFAULTS.pollMs,
    /** With a poll of auto: the longest time without a poll. */
    maxPollMs: values.ONCUE_POLL_MAX ?? DEFAULT_MAX_POLL_MS,
    leaseMs: values.ONCUE_LEASE ?? DEFAULTS.leaseMs,
    graceMs: values.ONCUE_GRACE ?? 30_000,
    /** Retry policy for jobs without one of their own. */
    retry: readRetry(values),
    /** Retries of jobs that `oncue enqueue` adds, unless the job or its topic sets them. */
    maxRetries: values.ONCUE_RETRY_MAX,
    retention: withoutUndefined({
      completed: values.ONCUE_RETENTION_COMPLETED,
      failed: values.ONCUE_RETENTION_FAILED,
      cancelled: values.ONCUE_RETENTION_CANCELLED,
    }),
    metricsPort: values.ONCUE_METRICS_PORT,
    metricsHost: values.ONCUE_METRICS_HOST,
    logLevel: values.ONCUE_LOG_LEVEL,
    /** Relative paths in variables start at this folder, as they do for the API. */
    folder: cwd,
  }
}

function readRetry(values: z.output<typeof schema>): RetryOptions | undefined {
  const written = withoutUndefined({
    strategy: values.ONCUE_RETRY_STRATEGY,
    baseDelay: values.ONCUE_RETRY_BASE_DELAY,
    minDelay: values.ONCUE_RETRY_MIN_DELAY,
    maxDelay: values.ONCUE_RETRY_MAX_DELAY,
  })
  if (Object.keys(written).length === 0) return undefined
  const parsed = retryOptionsSchema.safeParse(written)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const name = `ONCUE_RETRY_${String(issue?.path[0]).replace(/[A-Z]/g, '_$&').toUpperCase()}`
  throw wrongSetting(`${name}: ${issue?.message}`)
}

function withoutUndefined<T extends object>(values: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}

/** Variables that Node, its tools and the operating system need. None is a secret. */
const HARMLESS =
  /^(PATH|HOME|USER|LOGNAME|SHELL|PWD|TZ|LANG|LANGUAGE|LC_\w+|TMPDIR|TMP|TEMP|NODE_ENV|NODE_OPTIONS|NODE_PATH|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|FORCE_COLOR|NO_COLOR|TERM|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAMFILES|PROGRAMDATA)$/i

/** Nothing but what Windows needs to start a process. */
export function bareEnvironment({ SYSTEMROOT }: Environment = process.env): Record<string, string> {
  return SYSTEMROOT === undefined ? {} : { SYSTEMROOT }
}

/** The environment of a child process: harmless variables, and those that its topic names. It gets no other secrets. */
export function environmentFor(
  names: readonly string[],
  env: Environment = process.env,
): Record<string, string> {
  const wanted = new Set(names)
  const kept = Object.entries(env).filter(([name]) => HARMLESS.test(name) || wanted.has(name))
  return Object.fromEntries(kept.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}
