import { describe, expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'

describe('the environment', () => {
  test('nothing set gives the defaults', () => {
    expect(readConfig({}, '/app')).toMatchObject({
      databaseUrl: undefined,
      imports: [],
      queues: undefined,
      concurrency: 10,
      pollMs: 1_000,
      maxPollMs: 900_000,
      graceMs: 30_000,
      retry: undefined,
      maxRetries: undefined,
      retention: {},
      metricsPort: undefined,
      logLevel: 'info',
      callerFolder: '/app',
    })
  })

  test('everything set is read', () => {
    const env = {
      DATABASE_URL: 'postgres://db/app',
      ONCUE_SCHEMA: 'billing',
      ONCUE_IMPORT: './a.ts, ./b.ts',
      ONCUE_QUEUES: 'high, default',
      ONCUE_CONCURRENCY: '5',
      ONCUE_POLL: '500ms',
      ONCUE_POLL_MAX: '30m',
      ONCUE_LEASE: '1m',
      ONCUE_GRACE: '2000',
      ONCUE_RETRY_STRATEGY: 'exponential_jitter',
      ONCUE_RETRY_BASE_DELAY: '2s',
      ONCUE_RETRY_MIN_DELAY: '1s',
      ONCUE_RETRY_MAX_DELAY: '1h',
      ONCUE_RETRY_MAX: '7',
      ONCUE_RETENTION_COMPLETED: '1d',
      ONCUE_RETENTION_FAILED: '30d',
      ONCUE_RETENTION_CANCELLED: 'forever',
      ONCUE_METRICS_PORT: '9400',
      ONCUE_LOG_LEVEL: 'debug',
    }
    expect(readConfig(env)).toMatchObject({
      databaseUrl: 'postgres://db/app',
      schema: 'billing',
      imports: ['./a.ts', './b.ts'],
      queues: ['high', 'default'],
      concurrency: 5,
      pollMs: 500,
      maxPollMs: 1_800_000,
      leaseMs: 60_000,
      graceMs: 2_000,
      retry: { strategy: 'exponential_jitter', baseDelay: 2_000, minDelay: 1_000, maxDelay: 3_600_000 },
      maxRetries: 7,
      retention: { completed: 86_400_000, failed: 2_592_000_000, cancelled: Number.POSITIVE_INFINITY },
      metricsPort: 9_400,
      logLevel: 'debug',
    })
  })

  test('polls can be left to the worker, under both names', () => {
    expect(readConfig({ ONCUE_POLL: 'auto' })).toMatchObject({ pollMs: 'auto', maxPollMs: 900_000 })
    expect(readConfig({ ONCUE_POLL_INTERVAL: 'auto' })).toMatchObject({ pollMs: 'auto' })
    expect(readConfig({ ONCUE_POLL: 'auto', ONCUE_POLL_INTERVAL: '2s' })).toMatchObject({ pollMs: 'auto' })
  })

  test('an empty variable counts as unset', () => {
    expect(readConfig({ ONCUE_CONCURRENCY: '', ONCUE_QUEUES: '', ONCUE_LEASE: '' })).toMatchObject({
      concurrency: 10,
      queues: undefined,
    })
  })

  test.each([
    ['ONCUE_CONCURRENCY', 'ten', 'must be a whole number from 1 to 1000'],
    ['ONCUE_CONCURRENCY', '0', 'must be a whole number from 1 to 1000'],
    ['ONCUE_CONNECTIONS', '2', 'must be a whole number from 3 to 1000'],
    ['ONCUE_POLL', '1 fortnight', 'must be a duration'],
    ['ONCUE_POLL_INTERVAL', '1 fortnight', 'must be a duration'],
    ['ONCUE_POLL_MAX', '59s', 'must be at least 1m'],
    ['ONCUE_RETRY_MAX', '-1', 'must be a whole number from 0 to 1000'],
    ['ONCUE_RETRY_STRATEGY', 'hope', 'ONCUE_RETRY_STRATEGY'],
    ['ONCUE_RETRY_BASE_DELAY', '31d', 'ONCUE_RETRY_BASE_DELAY'],
    ['ONCUE_METRICS_PORT', '70000', 'must be a whole number from 0 to 65535'],
    ['ONCUE_LOG_LEVEL', 'loud', 'must be one of debug, info, warn, error, silent'],
  ])('%s=%s is refused, and the error names it', (name, value, why) => {
    const reading = () => readConfig({ [name]: value })
    expect(reading).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
    expect(reading).toThrow(name)
    expect(reading).toThrow(why)
  })

  test('a smallest delay above the largest is refused', () => {
    expect(() => readConfig({ ONCUE_RETRY_MIN_DELAY: '2m', ONCUE_RETRY_MAX_DELAY: '1m' })).toThrow(
      'ONCUE_RETRY_MIN_DELAY: is greater than maxDelay',
    )
  })

  test('paths on the command line are relative to the folder in which pnpm was called', () => {
    const env = { INIT_CWD: '/app/jobs', npm_package_json: '/app/package.json' }
    expect(readConfig(env, '/app').callerFolder).toBe('/app/jobs')
    expect(readConfig(env, '/elsewhere').callerFolder).toBe('/elsewhere')
  })
})
