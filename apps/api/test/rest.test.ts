import { newJobId, prepareJob } from '@oncue/core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApiDocument } from '../src/http/rest/openapi.ts'
import { ROUTE_CALLS } from './calls.ts'
import { DIALECTS } from './harness.ts'
import { type Answer, type Sending, World } from './test-server.ts'

type Json = Record<string, unknown>

const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)
ajv.addSchema(openApiDocument(), 'openapi')

const pointer = (...steps: (string | number)[]) =>
  steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

const PATHS = Object.keys(openApiDocument().paths as Json)

/** Every response must have a documented status and shape. */
function expectDocumented(method: string, path: string, { status, body, text }: Answer): void {
  // /api/jobs/stats comes before /api/jobs/{id}.
  const [template] = PATHS.filter((candidate) => matches(candidate, path)).sort()
  const at = ['paths', template ?? '', method.toLowerCase(), 'responses', status]
  const shape = text === '' ? [] : ['content', 'application/json', 'schema']
  const validate = ajv.compile({ $ref: `openapi#${pointer(...at, ...shape)}` })
  expect(validate(body), `${text}\n${ajv.errorsText(validate.errors)}`).toBe(true)
}

const matches = (template: string, path: string) =>
  new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path)

describe.each(DIALECTS)('REST on %s', (dialect) => {
  let world: World
  beforeAll(async () => {
    world = await World.open(dialect)
  })
  afterAll(() => world.close())

  async function send(method: string, path: string, sending?: Sending): Promise<Answer> {
    const answer = await world.send(method, path, sending)
    const [withoutQuery = ''] = path.split('?')
    expectDocumented(method, withoutQuery, answer)
    return answer
  }

  const enqueue = async (body: Json, headers = {}) => {
    const answer = await send('POST', '/api/jobs/enqueue', { body, headers })
    expect(answer.status, answer.text).toBe(201)
    return answer.body as { id: string; is_new: boolean; replaced: boolean } & Json
  }
  const get = async (id: string) => (await send('GET', `/api/jobs/${id}`)).body as Json
  const list = async (query: string) =>
    (await send('GET', `/api/jobs?${query}`)).body as { items: Json[]; next_cursor: string | null } & Json

  test.each(Object.entries(ROUTE_CALLS))('%s responds as documented', async (name, call) => {
    const [method = '', path = ''] = name.split(' ')
    const query = call.query ? `?${new URLSearchParams(call.query)}` : ''
    const at = ((await call.path?.(world)) ?? path) + query
    const answer = await send(method, at, { body: await call.body?.(world) })
    expect(answer.status).toBe(call.status)
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  describe('POST /api/jobs/enqueue', () => {
    test('returns a summary of the job', async () => {
      const { id, ...rest } = await enqueue({
        ...{ topic: 'mail_digest', payload: { userId: '123' } },
        ...{ runAt: '2036-01-08T12:00:00Z', maxRetries: 5 },
      })
      expect(rest).toEqual({
        ...{ topic: 'mail_digest', status: 'pending', run_at: '2036-01-08T12:00:00.000Z' },
        ...{ created: expect.stringMatching(/^\d{4}-.*Z$/), is_new: true, replaced: false },
      })
      expect(await get(id)).toMatchObject({
        ...{ id, topic: 'mail_digest', payload: { userId: '123' }, status: 'pending' },
        ...{ retries: 0, max_retries: 5, created: rest.created, run_at: rest.run_at },
      })
    })

    test('takes snake_case names too, and refuses both at once', async () => {
      const { id } = await enqueue({ topic: 't', max_retries: 7, timeout_ms: 500, meta: { a: 1 } })
      expect(await get(id)).toMatchObject({ max_retries: 7, timeout_ms: 500, meta: { a: 1 } })
      const body = { topic: 't', max_retries: 7, maxRetries: 7 }
      const { status, error } = await send('POST', '/api/jobs/enqueue', { body })
      expect([status, error?.code]).toEqual([400, 'INVALID_INPUT'])
      expect(error?.message).toContain('is also given as')
    })

    test('says whether a waiting job got the payload, alone and in a batch', async () => {
      const job = { topic: 'replaced', unique: { key: 'site', onConflict: 'replace' } }
      const { id } = await enqueue(job)
      expect(await enqueue({ ...job, payload: 2 })).toMatchObject({ id, is_new: false, replaced: true })
      const kept = { topic: 'replaced', unique: { key: 'site' } }
      expect(await enqueue(kept)).toMatchObject({ id, is_new: false, replaced: false })
      const body = { jobs: [job, kept, { topic: 'replaced' }] }
      const batch = await send('POST', '/api/jobs/enqueue/batch', { body })
      expect((batch.body as { results: Json[] }).results).toEqual([
        { id, is_new: false, replaced: true },
        { id, is_new: false, replaced: false },
        { id: expect.any(String), is_new: true, replaced: false },
      ])
    })

    test('returns the first job for a repeated key, in the header or the body', async () => {
      const first = await enqueue({ topic: 't' }, { 'idempotency-key': 'order-1' })
      const again = await enqueue({ topic: 't' }, { 'Idempotency-Key': 'order-1' })
      const byBody = await enqueue({ topic: 't', idempotency_key: 'order-1' })
      expect([again.id, byBody.id]).toEqual([first.id, first.id])
      expect([first.is_new, again.is_new, byBody.is_new]).toEqual([true, false, false])
      const headers = { 'idempotency-key': 'order-2' }
      const both = await send('POST', '/api/jobs/enqueue', {
        body: { topic: 't', idempotencyKey: 'x' },
        headers,
      })
      expect([both.status, both.error?.message]).toEqual([
        400,
        'input.idempotencyKey: must not be given twice',
      ])
    })

    test('explains an invalid payload to a client without shared code', async () => {
      const { status, error } = await send('POST', '/api/jobs/enqueue', {
        body: { topic: 'mail', payload: {} },
      })
      expect(status).toBe(400)
      expect(error).toMatchObject({
        ...{ code: 'INVALID_PAYLOAD', message: 'payload.userId: is missing (schema of mail)' },
        details: { path: 'payload.userId' },
      })
    })

    test('accepts an invalid payload if the settings allow it', async () => {
      for (const payloadValidation of ['warn', 'off']) {
        await world.call('settings.set', { payloadValidation })
        await enqueue({ topic: 'mail', payload: {} })
      }
      await world.call('settings.set', { reset: ['payloadValidation'] })
      const { error } = await send('POST', '/api/jobs/enqueue', { body: { topic: 'mail', payload: {} } })
      expect(error?.code).toBe('INVALID_PAYLOAD')
    })

    test('waits for other jobs', async () => {
      const { id: parent } = await enqueue({ topic: 't' })
      expect(await enqueue({ topic: 't', after: [parent] })).toMatchObject({ status: 'blocked' })
      const body = { topic: 't', after: [newJobId()] }
      const { status, error } = await send('POST', '/api/jobs/enqueue', { body })
      expect([status, error?.code]).toEqual([404, 'UNKNOWN_PARENT'])
    })
  })

  describe('POST /api/jobs/enqueue/batch', () => {
    const batch = (body: Json) => send('POST', '/api/jobs/enqueue/batch', { body })

    test('stores the good ones and says by index what is wrong with the others', async () => {
      const jobs = [
        { topic: 't', run_at: '2036-01-08T12:00:00Z', max_retries: 1 },
        { topic: 'no good' },
        { topic: 'mail', payload: {} },
        { topic: 't', run_at: 'tomorrow' },
        { topic: 't', payload: 'x'.repeat(1_048_576) },
        'not even an object',
        { topic: 't', payload: 2 },
      ]
      const { status, body } = await batch({ jobs })
      expect(status).toBe(207)
      const { stored, refused, results } = body as { results: { id?: string; error?: Json }[] } & Json
      expect([stored, refused]).toEqual([2, 5])
      expect(results.map(({ id, error }) => (id ? 'stored' : error?.code))).toEqual([
        ...['stored', 'INVALID_TOPIC', 'INVALID_PAYLOAD', 'INVALID_DATE', 'PAYLOAD_TOO_LARGE'],
        ...['INVALID_INPUT', 'stored'],
      ])
      expect(results[3]?.error).toMatchObject({
        message: expect.stringContaining('input.jobs[3].run_at: must be an ISO 8601 time'),
        details: { index: 3 },
      })
      expect(await get(results[0]?.id ?? '')).toMatchObject({
        max_retries: 1,
        run_at: '2036-01-08T12:00:00.000Z',
      })
    })

    test('stores nothing of an atomic batch with an invalid job', async () => {
      const topic = `t${newJobId()}`
      const { status, error } = await batch({ jobs: [{ topic }, { topic: 'no good' }], atomic: true })
      expect([status, error?.code, error?.details]).toEqual([400, 'INVALID_TOPIC', { index: 1 }])
      expect(await list(`topic=${topic}`)).toMatchObject({ total: 0 })
    })

    test('lets jobs of an atomic batch wait for each other', async () => {
      const jobs = [{ topic: 't' }, { topic: 't', after_items: [0] }, { topic: 't', afterItems: [0, 1] }]
      const { status, body } = await batch({ jobs, atomic: true })
      expect(status).toBe(201)
      const { results } = body as { results: { id: string }[] }
      expect(await Promise.all(results.map(({ id }) => get(id)))).toMatchObject([
        { status: 'pending', deps_left: 0 },
        { status: 'blocked', deps_left: 1 },
        { status: 'blocked', deps_left: 2 },
      ])

      const parted = await batch({ jobs })
      expect([parted.status, parted.body]).toMatchObject([207, { stored: 1, refused: 2 }])
      const twice = { topic: 't', afterItems: [0], after_items: [0] }
      const { error } = await batch({ jobs: [{ topic: 't' }, twice], atomic: true })
      expect(error).toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('also given as'),
      })
    })

    test('accepts a thousand jobs and not one more', async () => {
      const jobs = Array.from({ length: 1_000 }, (_, n) => ({ topic: 'many', payload: n }))
      const { status, body } = await batch({ jobs })
      expect([status, body]).toMatchObject([201, { stored: 1_000, refused: 0 }])
      const tooMany = await batch({ jobs: [...jobs, { topic: 'many' }] })
      expect([tooMany.status, tooMany.error?.code]).toEqual([413, 'BATCH_TOO_LARGE'])
      expect(await list('topic=many')).toMatchObject({ total: 1_000 })
    })
  })

  describe('GET /api/jobs', () => {
    test('returns pages by offset and by cursor', async () => {
      const jobs = Array.from({ length: 5 }, () => prepareJob('paged', null))
      for (const job of jobs) await world.store.enqueue([job])
      const { items, ...page } = await list('topic=paged&status=pending&limit=2&offset=1')
      expect(page).toMatchObject({ total: 5, total_is_exact: true, limit: 2, offset: 1 })
      expect(items.map(({ id }) => id)).toHaveLength(2)
      expect(items[0]).not.toHaveProperty('payload')

      const seen: unknown[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const next = await list(`topic=paged&limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
        seen.push(...next.items.map(({ id }) => id))
        cursor = next.next_cursor
      }
      expect(seen.sort()).toEqual(jobs.map(({ id }) => id).sort())
    })

    test('lists failures of jobs in retry and of those that gave up', async () => {
      const failed = await world.job('failed')
      const { queue, topic } = await get(failed)
      const failures = async (query: string) =>
        (await send('GET', `/api/failures?${query}`)).body as { items: Json[] }
      expect((await failures(`queue=${queue}`)).items).toEqual([
        {
          ...{
            fingerprint: 'f00d',
            class: 'TypeError',
            message: 'no user',
            topics: [topic],
            queues: [queue],
          },
          ...{ retrying: 0, undoing: 0, retrying_is_exact: true, failed: 1, next_try_at: null, is_new: true },
          ...{ first_seen: expect.any(String), last_seen: expect.any(String), trend: expect.any(Array) },
          sample: { job_id: failed, error: expect.objectContaining({ class: 'TypeError' }) },
        },
      ])
      const waiting = await world.job('processing', `${queue}-2`)
      const error = { class: 'TypeError', message: 'no user', fingerprint: 'f00d' }
      await world.store.settle([{ id: waiting, run: 1, kind: 'retry', delayMs: 60_000, error }])
      expect((await failures(`queue=${queue}-2`)).items).toMatchObject([
        { retrying: 1, failed: 0, next_try_at: (await get(waiting)).run_at, sample: { job_id: waiting } },
      ])
      expect((await failures(`queue=${queue}&text=NO+USER&sort=largest&limit=1`)).items).toHaveLength(1)
      expect((await failures(`queue=${queue}&text=other`)).items).toEqual([])
      expect((await failures(`queue=${queue}&since=2099-01-01T00:00:00Z`)).items).toEqual([])
    })

    test('filters by queue, time, error, id and meta', async () => {
      const failed = await world.job('failed')
      const { queue, created } = await get(failed)
      await enqueue({ topic: 'meta', meta: { agent: 'a1', n: 5, ok: true, text: '5' } })
      const count = async (query: string) => (await list(query)).items.length
      expect(await count(`queue=${queue}`)).toBe(1)
      expect(await count(`queue=${queue}&status=failed&status=cancelled`)).toBe(1)
      expect(await count(`queue=${queue}&status=pending&status=cancelled`)).toBe(0)
      const ids = async (query: string) => (await list(query)).items.map((item) => item.id)
      for (let n = 0; n < 3; n++) await enqueue({ topic: 'ordered' })
      expect(await ids('topic=ordered&order=oldest')).toEqual((await ids('topic=ordered')).toReversed())
      expect(await count(`queue=${queue}&created_from=${created}`)).toBe(1)
      expect(await count(`queue=${queue}&created_to=${created}`)).toBe(0)
      expect(await count(`queue=${queue}&fingerprint=f00d`)).toBe(1)
      expect(await count(`queue=${queue}&fingerprint=beef`)).toBe(0)
      expect(await count(`id_prefix=${failed.slice(0, 30)}`)).toBe(1)
      expect(await count(`id_suffix=${failed.slice(-8)}`)).toBe(1)
      expect(await count(`queue=${queue}&error_text=no%20USER`)).toBe(1)
      expect(await count(`queue=${queue}&error_text=other`)).toBe(0)
      expect(await count('topic=meta&meta.agent=a1&meta.n=5&meta.ok=true')).toBe(1)
      expect(await count('topic=meta&meta.agent=a2')).toBe(0)
      expect(await count('topic=meta&meta.text=5')).toBe(0)
      expect(await count('topic=meta&meta.text=%225%22')).toBe(1)
      expect(await count(`topic=meta&created_from=${created}&payload_text=null`)).toBe(1)
    })

    test.each([
      ['status=paused', 'INVALID_INPUT', 'input.status'],
      ['status=failed&status=paused', 'INVALID_INPUT', 'input.status'],
      ['order=random', 'INVALID_INPUT', 'input.order'],
      ['limit=0', 'INVALID_INPUT', 'input.limit'],
      ['limit=-1', 'INVALID_INPUT', 'input.limit'],
      ['limit=1000000000', 'INVALID_INPUT', 'input.limit'],
      ['limit=', 'INVALID_INPUT', 'input.limit: must be a whole number'],
      ['limit=ten', 'INVALID_INPUT', 'input.limit: must be a whole number'],
      ['limit=5&limit=6', 'INVALID_INPUT', 'input.limit'],
      ['offset=-1', 'INVALID_INPUT', 'input.offset'],
      ['topic=no%20good', 'INVALID_TOPIC', 'input.topic: contains " "'],
      ['created_from=yesterday', 'INVALID_INPUT', 'input.created_from: must be an ISO 8601 time'],
      ['created_from=0000-01-01T00:00:00Z', 'INVALID_INPUT', 'input.created_from'],
      ['topik=x', 'INVALID_INPUT', 'Unrecognized key: "topik"'],
      ['cursor=nonsense', 'INVALID_CURSOR', ''],
      ['payload_text=x', 'INVALID_INPUT', ''],
    ])('refuses ?%s', async (query, code, message) => {
      const { status, error } = await send('GET', `/api/jobs?${query}`)
      expect([status, error?.code]).toEqual([400, code])
      expect(error?.message).toContain(message)
    })

    test('has an empty page past the end, and refuses the cursor of another list', async () => {
      expect(await list('offset=1000000')).toMatchObject({ items: [], next_cursor: null })
      const { next_cursor } = await list('limit=1')
      const { status, error } = await send('GET', `/api/jobs?topic=mail&cursor=${next_cursor}`)
      expect([status, error?.code]).toEqual([400, 'INVALID_CURSOR'])
    })
  })

  test('GET /api/jobs/stats returns its documented fields, and no other', async () => {
    const { body } = await send('GET', '/api/jobs/stats')
    const counted = expect.any(Number)
    expect(body).toEqual({
      ...{ pending: counted, processing: counted, completed: counted, failed: counted },
      ...{ success_rate: counted, avg_execution_time: counted },
    })
  })

  describe('actions on one job', () => {
    test.each([
      ['DELETE', '', 'processing', 'only pending and failed jobs can be deleted'],
      ['DELETE', '', 'completed', 'only pending and failed jobs can be deleted'],
      ['POST', '/requeue', 'pending', 'only failed, cancelled and completed jobs can be requeued'],
      ['POST', '/requeue', 'processing', 'only failed, cancelled and completed jobs can be requeued'],
      ['POST', '/run-now', 'pending', 'it is due already, and waits for a worker'],
      ['POST', '/run-now', 'processing', 'only jobs that wait for their time can be run now'],
      ['POST', '/run-now', 'failed', 'only jobs that wait for their time can be run now'],
      ['POST', '/cancel', 'completed', 'only unfinished jobs can be cancelled'],
      ['POST', '/cancel', 'failed', 'only unfinished jobs can be cancelled'],
    ] as const)('%s …%s of a %s job is a conflict, and says why', async (method, path, state, reason) => {
      const id = await world.job(state)
      const { status, error } = await send(method, `/api/jobs/${id}${path}`)
      expect([status, error?.code]).toEqual([409, 'INVALID_STATE'])
      expect(error?.message).toContain(`Job ${id} is ${state}`)
      expect(error?.message).toContain(reason)
      expect(await get(id)).toMatchObject({ status: state })
    })

    test.each([
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/requeue'],
      ['POST', '/run-now'],
      ['POST', '/cancel'],
    ])('%s …%s is not found for an unknown id', async (method, path) => {
      const { status, error } = await send(method, `/api/jobs/${newJobId()}${path}`)
      expect([status, error?.code]).toEqual([404, 'JOB_NOT_FOUND'])
    })

    test('requeue, cancel and delete do what they say', async () => {
      const id = await world.job('failed')
      expect((await send('POST', `/api/jobs/${id}/requeue`)).body).toMatchObject({ id, status: 'pending' })
      expect((await send('POST', `/api/jobs/${id}/cancel`, { body: {} })).body).toMatchObject({
        status: 'cancelled',
      })
      expect((await get(id)).events).toMatchObject([
        { job_id: id, version: 1 },
        { job_id: id, version: 2, type: 'requeued' },
        { job_id: id, version: 3, type: 'cancelled' },
      ])
      const other = await world.job('pending')
      expect((await send('DELETE', `/api/jobs/${other}`)).status).toBe(204)
      expect((await send('GET', `/api/jobs/${other}`)).status).toBe(404)
    })

    test('run-now makes a scheduled job due, and says when', async () => {
      const id = await world.job('scheduled')
      const { body } = await send('POST', `/api/jobs/${id}/run-now`)
      expect(body).toMatchObject({ id, status: 'pending' })
      expect(Date.parse(String((await get(id)).run_at))).toBeLessThanOrEqual(
        (await world.store.now()).getTime(),
      )
      expect((await get(id)).events).toMatchObject([{ type: 'run_now', data: { by: expect.any(String) } }])
    })

    test('a run is only asked to stop', async () => {
      const id = await world.job('processing')
      expect((await send('POST', `/api/jobs/${id}/cancel`)).body).toMatchObject({ status: 'processing' })
      expect((await get(id)).cancel_at).toEqual(expect.any(String))
    })

    test('jobs that others wait for, or whose key is taken, are left alone', async () => {
      const { id: parent } = await enqueue({ topic: 't' })
      await enqueue({ topic: 't', after: [parent] })
      const kept = await send('DELETE', `/api/jobs/${parent}`)
      expect([kept.status, kept.error?.code]).toEqual([409, 'INVALID_STATE'])
      expect(kept.error?.message).toContain('other jobs wait for it')

      const unique = { key: 'one' }
      const { id: first } = await enqueue({ topic: 't', unique })
      await send('POST', `/api/jobs/${first}/cancel`)
      await enqueue({ topic: 't', unique })
      const taken = await send('POST', `/api/jobs/${first}/requeue`)
      expect([taken.status, taken.error?.code]).toEqual([409, 'UNIQUE_KEY_LIVE'])
    })
  })

  describe('commands', () => {
    const submit = async (body: Json, headers = {}) => {
      const answer = await send('POST', '/api/commands/jobs', { body, headers })
      expect(answer.status, answer.text).toBe(202)
      return answer.body as { job_id: string } & Json
    }

    test('are jobs whose topic is app:command', async () => {
      const { job_id, ...rest } = await submit({ app: 'app', command: 'embed', input: { chunk: 1 } })
      expect(rest).toEqual({ status: 'submitted', message: "Command 'embed' submitted successfully" })
      expect(await get(job_id)).toMatchObject({ topic: 'app:embed', payload: { chunk: 1 } })
      const first = await submit({ app: 'app', command: 'embed' }, { 'idempotency-key': 'c1' })
      const again = await submit({ app: 'app', command: 'embed' }, { 'idempotency-key': 'c1' })
      expect(again.job_id).toBe(first.job_id)
    })

    test.each([
      ['pending', 'queued', null, null],
      ['processing', 'running', null, null],
      ['completed', 'completed', { sent: 1 }, null],
      ['failed', 'failed', null, 'no user'],
    ] as const)('report a %s job as %s', async (state, status, result, error_message) => {
      const id = await world.job(state)
      const { body } = await send('GET', `/api/commands/jobs/${id}`)
      expect(body).toEqual({
        ...{ job_id: id, status, result, error_message, progress: null },
        ...{ created: expect.any(String), updated: expect.any(String) },
      })
    })

    test('report a cancelled job as failed, and a missing one as not found', async () => {
      const id = await world.job('pending')
      await send('POST', `/api/jobs/${id}/cancel`)
      const { body } = await send('GET', `/api/commands/jobs/${id}`)
      expect(body).toMatchObject({ status: 'failed', error_message: 'The command was cancelled' })
      expect((await send('GET', `/api/commands/jobs/${newJobId()}`)).status).toBe(404)
    })

    test.each([
      [{ app: 'a:b', command: 'c' }, 'input.app'],
      [{ app: 'a', command: '' }, 'input.command'],
      [{ app: 'a'.repeat(64), command: 'c'.repeat(64) }, 'input.command: is too long'],
      [{ command: 'c' }, 'input.app'],
    ])('refuse %j', async (body, message) => {
      const { status, error } = await send('POST', '/api/commands/jobs', { body })
      expect([status, error?.code]).toEqual([400, 'INVALID_INPUT'])
      expect(error?.message).toContain(message)
    })

    test('have a registry of what workers announced, by app', async () => {
      const { body } = await send('GET', '/api/commands/registry/debug')
      expect(body).toEqual({ total_commands: 2, commands_by_app: { '': ['mail'], app: ['embed'] } })
    })
  })

  describe('operations', () => {
    const itemsOf = async (path: string) => ((await send('GET', path)).body as { items: Json[] }).items

    test('a queue is paused and resumed, whatever its name', async () => {
      const paused = async () =>
        (await itemsOf('/api/queues')).find(({ queue }) => queue === 'eu/mail.v2')?.paused
      expect((await send('POST', '/api/queues/eu%2Fmail.v2/pause')).status).toBe(204)
      expect(await paused()).toMatchObject({ by: expect.any(String) })
      expect((await send('POST', '/api/queues/eu%2Fmail.v2/resume')).status).toBe(204)
      expect((await paused()) ?? null).toBeNull()
    })

    test('an action without a body takes any content type of JSON', async () => {
      const headers = { 'content-type': 'application/json' }
      for (const verb of ['pause', 'resume'])
        expect((await send('POST', `/api/queues/no_body/${verb}`, { headers })).status).toBe(204)
      const needed = await send('POST', '/api/jobs/enqueue', { headers })
      expect([needed.status, needed.error?.code]).toEqual([400, 'INVALID_TOPIC'])
    })

    test('a queue is paused for a while, and a duration in the query is refused', async () => {
      const body = { for_seconds: 1_800 }
      expect((await send('POST', '/api/queues/for_a_while/pause', { body })).status).toBe(204)
      const [queue] = (await itemsOf('/api/queues')).filter(({ queue }) => queue === 'for_a_while')
      const { at, until } = (queue?.paused ?? {}) as { at?: string; until?: string }
      expect(Date.parse(until ?? '') - Date.parse(at ?? '')).toBe(1_800_000)
      const { status, error } = await send('POST', '/api/queues/for_ever/pause?for_seconds=1800')
      expect([status, error?.code]).toEqual([400, 'INVALID_INPUT'])
      expect(await itemsOf('/api/queues')).not.toContainEqual(expect.objectContaining({ queue: 'for_ever' }))
    })

    test('a schedule is saved, listed, run now and removed', async () => {
      const body = { name: 'rest_nightly', cron: '0 9 * * *', topic: 'mail', payload: { userId: '123' } }
      const saved = await send('POST', '/api/schedules', { body })
      expect(saved.body).toMatchObject({ name: 'rest_nightly', next_runs: expect.any(Array) })
      expect(await itemsOf('/api/schedules')).toContainEqual(saved.body)
      const { status, body: ran } = await send('POST', '/api/schedules/rest_nightly/run-now')
      expect(status).toBe(201)
      expect(await get(String((ran as Json).id))).toMatchObject({ topic: 'mail', payload: { userId: '123' } })
      expect((await send('DELETE', '/api/schedules/rest_nightly')).status).toBe(204)
      const gone = await send('POST', '/api/schedules/rest_nightly/run-now')
      expect([gone.status, gone.error?.code]).toEqual([404, 'SCHEDULE_NOT_FOUND'])
    })

    test('a schedule of an unknown topic, and the removal of one that is declared in code, come with a warning', async () => {
      const body = { name: 'rest_typo', cron: '0 9 * * *', topic: 'mial', payload: {} }
      const saved = await send('POST', '/api/schedules', { body })
      expect(saved.body).toMatchObject({ warning: 'No worker has announced a topic mial: check its name' })
      expect((await send('DELETE', '/api/schedules/rest_typo')).status).toBe(204)

      const schedule = { name: 'rest_declared', cron: '0 9 * * *', topic: 'mail', payload: {} }
      const rest = { timezone: 'UTC', missed: 'skip', options: {}, source: 'code' } as const
      await world.store.schedules.save({ ...schedule, ...rest })
      const removed = await send('DELETE', '/api/schedules/rest_declared')
      expect([removed.status, removed.body]).toEqual([
        200,
        { warning: expect.stringMatching(/^It is declared in code: .* Pause it instead\.$/) },
      ])
    })

    test('health, workers and topics match the SDK, in snake_case', async () => {
      expect((await send('GET', '/api/health')).body).toMatchObject({
        summary: { level: expect.any(String) },
        oldest_waiting: { spark: expect.any(Array) },
        failure_rate: { spark: expect.any(Array) },
      })
      expect(await itemsOf('/api/topics')).toContainEqual(
        expect.objectContaining({ topic: 'mail', clash: null }),
      )
      expect(await itemsOf('/api/workers')).toEqual([])
    })
  })

  describe('the OpenAPI document and its page', () => {
    test('/openapi.json is the document, without a token', async () => {
      const { status, body } = await world.send('GET', '/openapi.json', { as: 'nobody' })
      expect(status).toBe(200)
      expect(body).toEqual(JSON.parse(JSON.stringify(openApiDocument())))
    })

    test('/docs loads everything from this server, under a strict policy', async () => {
      const page = await world.send('GET', '/docs', { as: 'nobody' })
      expect(page.status).toBe(200)
      const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file)
      expect(files.length).toBeGreaterThan(3)
      for (const file of [...files, '/docs/json', '/docs/yaml']) {
        const { pathname, host } = new URL(file, `${world.url}/docs`)
        expect(host).toBe(new URL(world.url).host)
        expect((await world.send('GET', pathname, { as: 'nobody' })).status, file).toBe(200)
      }
      // Scripts only from files: none is written into the page, so the policy needs no exception.
      expect(page.text).not.toMatch(/<script(?![^>]*\bsrc=)/)
      const policy = page.headers.get('content-security-policy') ?? ''
      expect(policy).toContain("script-src 'self';")
      expect(policy).not.toMatch(/unsafe-eval|https?:|\*/)
    })
  })

  test('signing in and out responds as documented', async () => {
    const token = await world.secret('viewer')
    const signedIn = await send('POST', '/api/session', { as: 'nobody', body: { token } })
    expect([signedIn.status, signedIn.body]).toMatchObject([201, { role: 'viewer' }])
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    const headers = { cookie, origin: world.url }
    expect((await send('GET', '/api/jobs/stats', { as: 'nobody', headers })).status).toBe(200)
    expect((await send('DELETE', '/api/session', { as: 'nobody', headers })).status).toBe(204)
    expect((await send('GET', '/api/jobs/stats', { as: 'nobody', headers })).status).toBe(401)
  })

  test('an unknown path or method is NOT_FOUND, in the common shape', async () => {
    for (const [method, path] of [
      ['GET', '/api/nothing'],
      ['PUT', '/api/jobs/enqueue'],
      ['GET', '/api/jobs/enqueue/batch'],
      ['PATCH', '/api/jobs'],
    ] as const) {
      const { status, error } = await world.send(method, path)
      expect([status, error?.code]).toEqual([404, 'NOT_FOUND'])
      expect(error?.hint).toContain('/docs')
    }
  })

  test('none of these requests caused a server error', () => {
    expect(world.faults).toEqual([])
  })
})
