import { readFile } from 'node:fs/promises'
import {
  DEFAULTS,
  defineJobs,
  type EnqueueOptions,
  ERRORS,
  job,
  LIMITS,
  newJobId,
  prepareJob,
} from '@oncue/core'
import { enqueueOptionsSchema } from '@oncue/core/wire'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { buildFunctions, readSources } from '../../../prisma/functions.ts'
import { migrate, removeFunctions } from '../src/migrate/migrate.ts'
import { openStore } from '../src/open.ts'
import { createQueue } from '../src/queue/queue.ts'
import type { Store } from '../src/store.ts'
import { createEmptyPostgresDatabase, createPostgresDatabase, type TestDatabase } from './support/index.ts'
import { openPool } from './support/postgres-pool.ts'

let database: TestDatabase
let client: pg.Client
let store: Store

beforeAll(async () => {
  database = await createPostgresDatabase(inject('postgresUrl'))
  client = new pg.Client(database.url)
  await client.connect()
  store = await openStore(database.url)
})
afterAll(async () => {
  await store.close()
  await client.end()
  await database.drop()
})

async function enqueue(topic: unknown, payload: unknown, options?: unknown): Promise<string> {
  const { rows } = await client.query(
    `select oncue.enqueue($1, $2${options === undefined ? '' : ', $3'}) as id`,
    [topic, JSON.stringify(payload), options].slice(0, options === undefined ? 2 : 3),
  )
  return rows[0].id
}

const counted = async () => Number((await client.query('select count(*) from oncue.jobs')).rows[0].count)

describe('oncue.enqueue', () => {
  test('knows every option of an enqueue', async () => {
    const path = new URL('../../../prisma/postgres/functions/enqueue_one.sql', import.meta.url)
    const [, list = ''] =
      /check_fields\('options', v, array\[([^\]]*)\]/.exec(await readFile(path, 'utf8')) ?? []
    const known = [...list.matchAll(/'(\w+)'/g)].map(([, name]) => name)
    expect(known.toSorted()).toEqual(Object.keys(enqueueOptionsSchema.shape).toSorted())
  })

  test('stores a job as the store does', async () => {
    const id = await enqueue('mail_digest', { userId: '123' })
    const [reference = ''] = await store.enqueue([prepareJob('mail_digest', { userId: '123' })])
    const [made, expected] = [await store.get(id), await store.get(reference)]
    const own = {
      id,
      created: made?.created,
      updated: made?.updated,
      runAt: made?.runAt,
      visibleAt: made?.visibleAt,
    }
    expect(made).toEqual({ ...expected, ...own })
    expect(made).toMatchObject({ queue: DEFAULTS.queue, payload: { userId: '123' } })
    expect(made?.runAt).toEqual(made?.created)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]/)
    const age = Date.now() - Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
    expect(Math.abs(age)).toBeLessThan(60_000)
  })

  const parent = newJobId()
  test.each<[string, EnqueueOptions]>([
    ['queue, priority, timeout', { queue: 'mail', priority: -5, timeoutMs: 5_000 }],
    ['retries', { maxRetries: 7 }],
    ['no retries', { retry: false }],
    ['a policy without a strategy', { retry: { max: 2, baseDelay: 10 } }],
    ['a policy', { retry: { strategy: 'fixed', minDelay: 1, maxDelay: 2 } }],
    ['a time', { runAt: new Date('2030-01-31T09:00:00.123Z') }],
    ['a concurrency key', { concurrencyKey: 'k' }],
    ['a concurrency limit', { concurrencyKey: 'k', concurrencyLimit: 3 }],
    ['meta', { meta: { customer: 'ä', n: null } }],
    ['a trace and a maker', { trace: '00-a', parentId: parent }],
    ['a unique key', { unique: { key: 'a' } }],
    ['a unique key of all topics', { unique: { key: 'b', scope: 'all', within: 1_000 } }],
    ['an idempotency key', { idempotencyKey: 'a' }],
  ])('takes %s as the store does', async (_, options) => {
    const id = await enqueue('options', null, options)
    const made = await store.get(id)
    await client.query('delete from oncue.keys')
    const [reference = ''] = await store.enqueue([prepareJob('options', null, options)])
    const expected = await store.get(reference)
    await client.query('delete from oncue.keys')
    const times = { created: 0, updated: 0, ...(options.runAt ? {} : { runAt: 0, visibleAt: 0 }) }
    expect({ ...made, ...times, id: '' }).toEqual({ ...expected, ...times, id: '' })
  })

  test('waits for a delay', async () => {
    const job = await store.get(await enqueue('later', {}, { delay: 60_000 }))
    expect(Number(job?.runAt) - Number(job?.created)).toBe(60_000)
  })

  test('takes omitted options from the definition that workers announced, then from the defaults', async () => {
    const policy = {
      ...{ queue: 'reports', priority: 9, maxRetries: 1, timeoutMs: 1_000 },
      retry: { strategy: 'fixed', baseDelay: 5 },
    }
    await store.announce([{ topic: 'report', input: {}, output: {}, policy }])
    expect(await store.get(await enqueue('report', {}))).toMatchObject(policy)
    const own = { priority: 1, queue: 'mine', retry: { max: 0 }, timeoutMs: null }
    expect(await store.get(await enqueue('report', {}, own))).toMatchObject({
      ...policy,
      ...{ priority: 1, queue: 'mine', maxRetries: 0 },
    })
  })

  test('stores large payloads apart, and keeps every text unchanged', async () => {
    const payload = { text: 'ä"\\ 12345678901234567890 \\" {[{['.repeat(300) }
    expect(await store.get(await enqueue('large', payload))).toMatchObject({ payload })
    expect(await store.get(await enqueue('none', null))).toMatchObject({ payload: null })
    const { rows } = await client.query(`select oncue.enqueue('none', null) as id`)
    expect(await store.get(rows[0].id)).toMatchObject({ payload: null })
  })

  test('returns the id of the job that holds a key', async () => {
    const unique = { key: 'once' }
    const id = await enqueue('keyed', { n: 1 }, { unique })
    expect(await enqueue('keyed', { n: 2 }, { unique })).toBe(id)
    expect(await enqueue('keyed', { n: 3 }, { unique: { ...unique, onConflict: 'replace' } })).toBe(id)
    expect(await store.get(id)).toMatchObject({ payload: { n: 3 } })
    await expect(enqueue('keyed', {}, { unique: { ...unique, onConflict: 'reject' } })).rejects.toMatchObject(
      { code: 'OC001', detail: 'UNIQUE_KEY_LIVE', hint: ERRORS.UNIQUE_KEY_LIVE.hint },
    )
  })

  test('waits for parents', async () => {
    const first = await enqueue('first', {})
    const second = await enqueue('second', {}, { after: [first, first], onParentFailure: 'cancel' })
    expect(await store.get(second)).toMatchObject({ status: 'blocked', depsLeft: 1 })
    await store.cancel([first])
    expect(await store.get(second)).toMatchObject({ status: 'cancelled' })
    await expect(enqueue('second', {}, { after: [newJobId()] })).rejects.toMatchObject({
      code: 'OC002',
      detail: 'UNKNOWN_PARENT',
      hint: ERRORS.UNKNOWN_PARENT.hint,
    })
  })

  test('that is rolled back leaves nothing; due jobs wake workers at the commit, others only those that rest', async () => {
    const before = await counted()
    const heard: (string | undefined)[] = []
    client.on('notification', ({ payload }) => heard.push(payload))
    await client.query('listen oncue')
    await client.query('begin')
    await enqueue('mail', {}, { queue: 'never' })
    await client.query('rollback')
    expect(await counted()).toBe(before)
    await enqueue('mail', {}, { queue: 'later', delay: 60_000 })
    await enqueue('mail', {}, { queue: 'now' })
    await client.query('unlisten oncue')
    expect(heard).toEqual([':later', 'now'])
  })

  const INVALID = { code: '22023' }
  test.each<[string, unknown, unknown, unknown, string, string]>([
    ['a topic with a space', 'a b', {}, {}, 'INVALID_TOPIC', 'topic "a b" is not a valid name'],
    ['no topic', null, {}, {}, 'INVALID_TOPIC', 'topic is missing'],
    ['an empty topic', '', {}, {}, 'INVALID_TOPIC', 'topic "" is empty'],
    ['two prefixes', 'a:b:c', {}, {}, 'INVALID_TOPIC', 'topic "a:b:c" is not a valid name'],
    ['a long topic', 'x'.repeat(129), {}, {}, 'INVALID_TOPIC', 'has 129 characters, at most 128 are allowed'],
    ['a queue with a prefix', 'a', {}, { queue: 'a:b' }, 'INVALID_QUEUE', 'queue "a:b" is not a valid name'],
    ["a topic of Oncue's own", 'oncue:notify', {}, {}, 'TOPIC_NOT_ALLOWED', 'is reserved for Oncue'],
    ["Oncue's own queue", 'a', {}, { queue: 'oncue' }, 'INVALID_QUEUE', "reserved for Oncue's own jobs"],
    [
      'a large payload',
      'a',
      'x'.repeat(LIMITS.payloadBytes),
      {},
      'PAYLOAD_TOO_LARGE',
      'payload is 1048578 bytes',
    ],
    ['large meta', 'a', {}, { meta: { a: 'x'.repeat(9_000) } }, 'META_TOO_LARGE', 'at most 8192 are allowed'],
    ['an unknown option', 'a', {}, { retrys: 3 }, 'INVALID_INPUT', 'options.retrys is unknown'],
    [
      'an unknown field',
      'a',
      {},
      { unique: { key: 'a', when: 1 } },
      'INVALID_INPUT',
      'options.unique.when is unknown',
    ],
    ['options that are a list', 'a', {}, '[]', 'INVALID_INPUT', 'options must be an object, not array'],
    [
      'a priority beyond',
      'a',
      {},
      { priority: 40_000 },
      'INVALID_INPUT',
      'options.priority must be a whole number',
    ],
    ['a fraction', 'a', {}, { delay: 1.5 }, 'INVALID_INPUT', 'from 0 to 315360000000, not 1.5'],
    [
      'a number as text',
      'a',
      {},
      { timeoutMs: '5' },
      'INVALID_INPUT',
      'options.timeoutMs must be a whole number',
    ],
    [
      'a long key',
      'a',
      {},
      { idempotencyKey: 'x'.repeat(256) },
      'INVALID_INPUT',
      'a string of 1 to 255 characters',
    ],
    [
      'a unique rule without a key',
      'a',
      {},
      { unique: {} },
      'INVALID_INPUT',
      'options.unique.key is missing',
    ],
    [
      'a wrong choice',
      'a',
      {},
      { onParentFailure: 'no' },
      'INVALID_INPUT',
      'must be one of wait, stop, go_on, cancel',
    ],
    ['two times', 'a', {}, { runAt: '2030-01-01T00:00Z', delay: 1 }, 'INVALID_INPUT', 'cannot be combined'],
    ['two counts', 'a', {}, { retry: false, maxRetries: 1 }, 'INVALID_INPUT', 'cannot be combined'],
    ['a limit of no key', 'a', {}, { concurrencyLimit: 1 }, 'INVALID_INPUT', 'needs options.concurrencyKey'],
    [
      'delays upside down',
      'a',
      {},
      { retry: { minDelay: 2, maxDelay: 1 } },
      'INVALID_INPUT',
      'minDelay is greater',
    ],
    ['a wrong id', 'a', {}, { after: ['7'] }, 'INVALID_INPUT', 'options.after must be a job id, not "7"'],
    ['an id that is null', 'a', {}, { after: [null] }, 'INVALID_INPUT', 'options.after must be a job id'],
    ['meta that is no object', 'a', {}, { meta: [] }, 'INVALID_INPUT', 'options.meta must be an object'],
  ])('refuses %s, with the code and what to do', async (_, topic, payload, options, detail, message) => {
    const before = await counted()
    await expect(enqueue(topic, payload, options)).rejects.toMatchObject({
      ...INVALID,
      detail,
      message: expect.stringContaining(message),
      hint: expect.stringMatching(/\.$/),
    })
    expect(await counted()).toBe(before)
  })

  const send = (json: string, options = '{}') =>
    client.query('select oncue.enqueue($1, $2, $3) as id', ['a', json, options])

  const NUL = String.raw`\u0000`
  const HALF = String.raw`\ud83d`
  test.each([
    ['a number that JavaScript would round', '{"id": 9007199254740993}', 'UNSAFE_NUMBER'],
    ['one below zero', '[-9007199254740993]', 'UNSAFE_NUMBER'],
    ['one with an exponent', '[1e20]', 'UNSAFE_NUMBER'],
    ['one with a fraction', '12345678901234567890.0', 'UNSAFE_NUMBER'],
    ['one that is rounded up to 2^53', '9007199254740991.5', 'UNSAFE_NUMBER'],
    ['one of many zeros', '0.0000000000000000000009007199254740993E+37', 'UNSAFE_NUMBER'],
    ['one that would be Infinity', '[1e400]', 'INVALID_PAYLOAD'],
    ['one that would just be Infinity', '-1.8e308', 'INVALID_PAYLOAD'],
    ['one that no database holds', '[1e2000000000]', 'INVALID_PAYLOAD'],
    ['one of very many digits', '9'.repeat(200_000), 'INVALID_PAYLOAD'],
    ['a NUL', `{"a": "${NUL}"}`, 'INVALID_TEXT'],
    ['a NUL behind a backslash', `["\\\\${NUL}"]`, 'INVALID_TEXT'],
    ['a NUL in a name', `{"a${NUL}": 1}`, 'INVALID_TEXT'],
    ['half a surrogate pair', `"${HALF}"`, 'INVALID_TEXT'],
    ['the other half', String.raw`"\uDE00"`, 'INVALID_TEXT'],
    ['two halves apart', String.raw`"\ud83d\\\ude00"`, 'INVALID_TEXT'],
    ['a property __proto__', '{"__proto__": {"x": 1}}', 'INVALID_PAYLOAD'],
    ['an escaped property __proto__', String.raw`{"\u005f_pr\u006Fto__" : 1}`, 'INVALID_PAYLOAD'],
    ['201 levels', '['.repeat(201) + ']'.repeat(201), 'INVALID_PAYLOAD'],
  ])('refuses a payload with %s, as prepareJob does', async (_, json, detail) => {
    expect(codeOf(() => prepareJob('a', JSON.parse(json)))).toBe(detail)
    await expect(send(json)).rejects.toMatchObject({ ...INVALID, detail, hint: expect.stringMatching(/\.$/) })
  })

  test.each([
    [
      'safe numbers',
      '[9007199254740991, -9007199254740991.0, 9007199254740991.4, 9.007199254740991e15, 1e15, -1E0]',
    ],
    ['small numbers', '[0.12345678901234567, 1e-400, 1e-20000, 0e999999, 0.00000000000000000001e30, -0]'],
    ['texts like numbers', '{"9007199254740993": "9007199254740993", "1e400": "1e400"}'],
    ['escapes', String.raw`["\ud83d\ude00 \\u0000 \\ud83d \" \u00e4", "\\", "\\\\u0000"]`],
    ['texts like names', String.raw`["__proto__", {"x\"__proto__": 1, "a__proto__": "\"__proto__\": 1"}]`],
    ['200 levels', '['.repeat(200) + ']'.repeat(200)],
    ['many lists', JSON.stringify(Array.from({ length: 500 }, () => [{ text: '[[' }]))],
  ])('takes a payload with %s, as prepareJob does', async (_, json) => {
    const { payload } = prepareJob('a', JSON.parse(json))
    const { rows } = await send(json)
    expect(JSON.stringify((await store.get(rows[0].id))?.payload)).toBe(payload)
  })

  test.each([
    ['a NUL', `{"idempotencyKey": "a${NUL}"}`, 'INVALID_TEXT'],
    ['half a surrogate pair', `{"unique": {"key": "${HALF}"}}`, 'INVALID_TEXT'],
    ['a NUL in meta', `{"meta": {"a": "${NUL}"}}`, 'INVALID_TEXT'],
    ['a NUL in an id', `{"after": ["${NUL}"]}`, 'INVALID_TEXT'],
    ['a NUL in a name', `{"a${NUL}": 1}`, 'INVALID_TEXT'],
    ['a number that JavaScript would round', '{"meta": {"a": 1e20}}', 'UNSAFE_NUMBER'],
    ['a number that would be Infinity', '{"priority": 1e400}', 'INVALID_INPUT'],
    ['a number that no database holds', '{"priority": 1e200000}', 'INVALID_INPUT'],
    ['a small number that no database holds', '{"priority": 1e-200000}', 'INVALID_INPUT'],
    ['a property __proto__', '{"meta": {"__proto__": 1}}', 'INVALID_INPUT'],
    ['a delay that is no whole number', '{"retry": {"minDelay": 1.5, "maxDelay": 2}}', 'INVALID_INPUT'],
    ['201 levels', `{"meta": {"a": ${'['.repeat(200) + ']'.repeat(200)}}}`, 'INVALID_INPUT'],
    ['a text instead of an object', '"a"', 'INVALID_INPUT'],
    ['meta that is a text', '{"meta": "a"}', 'INVALID_INPUT'],
  ])('refuses options with %s', async (_, options, detail) => {
    await expect(send('1', options)).rejects.toMatchObject({
      ...INVALID,
      detail,
      hint: expect.stringMatching(/\.$/),
    })
  })

  test('accepts whole numbers in any notation', async () => {
    const { rows } = await send('1', '{"priority": 5.0, "retry": {"minDelay": 1e2, "maxDelay": 200.0}}')
    expect(await store.get(rows[0].id)).toMatchObject({
      priority: 5,
      retry: { minDelay: 100, maxDelay: 200 },
    })
  })

  test.each([
    ...['now', 'tomorrow', 'tomorrow morning', 'epoch', 'infinity', 'allballs', 'J2460000', '', 'Z'],
    ...['2027-01-01', '01/02/2027', '20270101T000000Z', '2027-01-01T10:00:00', '2027-01-01 10:00:00Z'],
    ...['2027-01-01T10:00:00 America/New_York', '2027-02-30T10:00:00Z', '2027-01-01T25:00:00Z'],
    ...['12000-01-01T00:00:00Z', '1969-12-31T23:59:59Z', 1_893_456_000_000, true, [], {}],
  ])('refuses %j as a time', async (runAt) => {
    await expect(send('1', JSON.stringify({ runAt }))).rejects.toMatchObject({
      ...INVALID,
      detail: 'INVALID_INPUT',
      message: expect.stringContaining('options.runAt must be'),
    })
  })

  test.each([
    ['2030-01-31T09:00Z', '2030-01-31T09:00:00.000Z'],
    ['2030-01-31T09:00:00.1239+05:45', '2030-01-31T03:15:00.123Z'],
  ])('takes the time %s', async (runAt, expected) => {
    const { rows } = await send('1', JSON.stringify({ runAt }))
    expect((await store.get(rows[0].id))?.runAt.toISOString()).toBe(expected)
  })

  test('accepts a timestamp of the database, whatever its date style', async () => {
    await client.query(`begin; set local datestyle = 'SQL, DMY'; set local timezone = 'Asia/Kathmandu'`)
    const { rows } = await client.query(
      `select oncue.enqueue('a', '1', json_build_object('runAt', now() + interval '1 day')) as id,
         floor(extract(epoch from now() + interval '1 day') * 1000)::text as ms`,
    )
    await client.query('commit')
    expect(Number((await store.get(rows[0].id))?.runAt)).toBe(Number(rows[0].ms))
  })
})

/** The code of the error that `run` throws. */
function codeOf(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return (error as { code?: unknown }).code
  }
  return null
}

describe('with several builds installed', () => {
  let shared: TestDatabase
  let admin: pg.Client
  beforeEach(async () => {
    shared = await createPostgresDatabase(inject('postgresUrl'))
    admin = new pg.Client(shared.url)
    await admin.connect()
  })
  afterEach(async () => {
    await admin.end()
    await shared.drop()
  })

  const defaultQueue = async () => {
    const made = await admin.query(`select oncue.enqueue('a', 'null') as id`)
    const { rows } = await admin.query('select queue from oncue.jobs where id = $1', [made.rows[0].id])
    return rows[0]?.queue
  }

  test('it calls the newest functions, keeps its grants, and returns to the older ones when those are removed', async () => {
    const sources = await readSources()
    const other = buildFunctions({
      ...sources,
      enqueue_one: String(sources.enqueue_one).replace("'{{defaults.queue}}'", "'newer'"),
    })
    await admin.query('revoke execute on function oncue.enqueue from public')
    await admin.query(`update oncue.function_sets set installed_at = installed_at - interval '1 hour'`)
    expect(await defaultQueue()).toBe('default')
    await migrate(shared.url, { functions: other })
    expect(await defaultQueue()).toBe('newer')
    const { rows } = await admin.query(
      `select has_function_privilege('public', 'oncue.enqueue(text, json, json)', 'execute') as may`,
    )
    expect(rows).toEqual([{ may: false }])
    await admin.query(`update oncue.function_sets set last_seen = '2020-01-01'`)
    await removeFunctions(shared.url, other.hash)
    expect(await defaultQueue()).toBe('default')
  })

  test('a service that only enqueues works with the functions of any build', async () => {
    const empty = await createEmptyPostgresDatabase(inject('postgresUrl'))
    const sources = await readSources()
    await migrate(empty.url, {
      functions: buildFunctions({ ...sources, tend: `${sources.tend}-- Another.\n` }),
    })
    const pool = openPool({ connectionString: empty.url, max: 1 })
    const queue = createQueue({ pool, jobs: defineJobs({ report: job({ input: z.null() }) }) })
    const first = await queue.enqueue('report', null, { unique: { key: 'a' }, meta: { a: 1 } })
    expect(await queue.enqueue('report', null, { unique: { key: 'a' } })).toBe(first)
    await queue.enqueue('report', null, { after: [first] })
    expect((await pool.query('select status from oncue.jobs order by status')).rows).toEqual([
      { status: 'blocked' },
      { status: 'pending' },
    ])
    await pool.end()
    await expect(openStore(empty.url)).rejects.toMatchObject({ code: 'MIGRATION_NEEDED' })
    await empty.drop()
  })

  test('an older build does not take it over', async () => {
    await admin.query(`update oncue.function_sets set release = '10.0.0'`)
    const sources = await readSources()
    const older = buildFunctions({
      ...sources,
      enqueue_one: String(sources.enqueue_one).replace("'{{defaults.queue}}'", "'older'"),
    })
    await migrate(shared.url, { functions: older })
    expect(await defaultQueue()).toBe('default')
  })
})
