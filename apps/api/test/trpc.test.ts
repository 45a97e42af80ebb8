import { randomUUID } from 'node:crypto'
import { ERRORS, OncueError } from '@oncue/core'
import { describe, expect, it, vi } from 'vitest'
import { DIALECTS, errorOf, startTestApi } from './harness.ts'

describe.each(DIALECTS)('tRPC on %s', (dialect) => {
  it('takes a job from enqueue to its typed result', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    const { id, created } = await client.jobs.enqueue.mutate({
      topic: 'mail_digest',
      payload: { userId: '7' },
    })
    expect(created).toBe(true)

    const job = await client.jobs.get.query({ id })
    expect(job).toMatchObject({ id, topic: 'mail_digest', status: 'pending', payload: { userId: '7' } })
    expect(job.created).toBeInstanceOf(Date)

    const waiting = client.jobs.wait.query({ id })
    await api.complete(await api.claim(), { sent: 3 })
    expect(await waiting).toEqual({
      finished: true,
      topic: 'mail_digest',
      status: 'completed',
      result: { sent: 3 },
      error: null,
      masked: [],
    })
  })

  it('returns the current state when a wait takes too long', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    const answer = await api.client().jobs.wait.query({ id, timeoutMs: 10 })
    expect(answer).toEqual({ finished: false, status: 'pending', progress: null })
  })

  it('stores the valid jobs of a batch, and reports the others by index', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    await client.jobs.enqueue.mutate({ topic: 'mail', unique: { key: 'only' } })
    const answer = await client.jobs.enqueueMany.mutate({
      jobs: [
        { topic: 'mail', payload: { n: 0 } },
        { topic: 'no topic' },
        { topic: 'mail', priority: 1e9 },
        { topic: 'mail', unique: { key: 'only', onConflict: 'reject' } },
        { topic: 'mail', after: ['01900000-0000-7000-8000-000000000000'] },
        { topic: 'mail', unique: { key: 'only' } },
        { topic: 'mail', payload: { n: 6 } },
      ],
    })
    const codes = answer.results.map((result) => ('error' in result ? result.error.code : result.created))
    expect(codes).toEqual([
      true,
      'INVALID_TOPIC',
      'INVALID_PRIORITY',
      'UNIQUE_KEY_LIVE',
      'UNKNOWN_PARENT',
      false,
      true,
    ])
    expect(answer).toMatchObject({ stored: 3, refused: 4 })
    expect(answer.results[2]).toMatchObject({ error: { details: { index: 2 } } })
    expect((await client.jobs.list.query({})).total).toBe(3)
  })

  it('stores nothing of an atomic batch with an invalid job', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    const jobs = [{ topic: 'mail' }, { topic: 'no topic' }]
    const error = await errorOf(client.jobs.enqueueMany.mutate({ jobs, atomic: true }))
    expect(error).toMatchObject({ code: 'INVALID_TOPIC', details: { index: 1 } })
    expect((await client.jobs.list.query({})).total).toBe(0)
  })

  it('lets jobs of an atomic batch wait for each other', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    await client.jobs.enqueue.mutate({ topic: 'mail', unique: { key: 'first' } })
    const { results } = await client.jobs.enqueueMany.mutate({
      jobs: [
        { topic: 'mail', unique: { key: 'first' } },
        { topic: 'mail', afterItems: [0] },
        { topic: 'mail', afterItems: [0, 1] },
      ],
      atomic: true,
    })
    const jobs = await Promise.all(
      results.map((result) => client.jobs.get.query({ id: 'id' in result ? result.id : '' })),
    )
    expect(jobs.map(({ status, depsLeft }) => ({ status, depsLeft }))).toEqual([
      { status: 'pending', depsLeft: 0 },
      { status: 'blocked', depsLeft: 1 },
      { status: 'blocked', depsLeft: 2 },
    ])
  })

  it.each<[string, number[], boolean, string]>([
    ['a job that is not in it', [2], true, 'INVALID_INPUT'],
    ['each other in a circle', [1], true, 'DEPENDENCY_CYCLE'],
    ['one that may be refused alone', [0], false, 'INVALID_INPUT'],
  ])('refuses a job of a batch that waits for %s', async (_, afterItems, atomic, code) => {
    const api = await startTestApi(dialect)
    const client = api.client()
    const jobs = [{ topic: 'mail' }, { topic: 'mail', afterItems }]
    const call = client.jobs.enqueueMany.mutate({ jobs, atomic })
    if (atomic) expect(await errorOf(call)).toMatchObject({ code })
    else expect((await call).results[1]).toMatchObject({ error: { code, details: { index: 1 } } })
  })

  it('refuses more than 1,000 jobs or ids in one call', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    const jobs = Array.from({ length: 1_001 }, () => ({ topic: 'mail' }))
    expect(await errorOf(client.jobs.enqueueMany.mutate({ jobs }))).toMatchObject({ code: 'BATCH_TOO_LARGE' })
    const ids = jobs.map(() => '01900000-0000-7000-8000-000000000000')
    expect(await errorOf(client.jobs.delete.mutate({ ids }))).toMatchObject({ code: 'BATCH_TOO_LARGE' })
  })

  it('returns each of many concurrent callers its own result', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    await client.jobs.enqueue.mutate({ topic: 'mail', unique: { key: 'taken' } })
    const calls = Array.from({ length: 60 }, (_, n) =>
      client.jobs.enqueue
        .mutate({
          topic: 'mail',
          payload: { n },
          ...(n % 10 === 3 && { unique: { key: 'taken', onConflict: 'reject' } }),
        })
        .then(
          ({ id }) => id,
          (error) => error.data.oncue.code as string,
        ),
    )
    const answers = await Promise.all(calls)
    for (const [n, answer] of answers.entries()) {
      if (n % 10 === 3) expect(answer).toBe('UNIQUE_KEY_LIVE')
      else expect((await client.jobs.get.query({ id: answer })).payload).toEqual({ n })
    }
    expect((await client.jobs.stats.query()).pending).toBe(55)
  })

  it('acts by filter as of a moment, and reports what was skipped', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    await api.enqueue({ topic: 'mail' })
    const { now: asOf } = await client.health.get.query()
    await expect.poll(async () => (await api.store.now()) > asOf).toBe(true)
    const later = await api.enqueue({ topic: 'mail' })
    expect(await client.jobs.cancel.mutate({ filter: { topic: 'mail' }, asOf })).toEqual({
      done: 1,
      skipped: {},
    })
    expect((await client.jobs.get.query({ id: later })).status).toBe('pending')
    expect(await client.jobs.requeue.mutate({ ids: [later] })).toEqual({
      done: 0,
      skipped: { INVALID_STATE: 1 },
    })
    expect(await client.jobs.delete.mutate({ ids: [later] })).toEqual({ done: 1, skipped: {} })
    const none = await errorOf(client.jobs.delete.mutate({ filter: {} }))
    expect(none).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('reports the outcome of each job of a batch when the database goes away in between', async () => {
    const api = await startTestApi(dialect)
    const jobs = [{ topic: 'mail' }, { topic: 'mail' }]
    const gone = new OncueError('DATABASE_UNAVAILABLE', 'Postgres: connect ECONNREFUSED 10.0.0.5:5432')
    const really = api.store.enqueueWithOutcomes.bind(api.store)
    const enqueue = vi.spyOn(api.store, 'enqueueWithOutcomes')
    enqueue.mockRejectedValueOnce(new OncueError('DATABASE_REFUSED', 'Postgres: a value'))
    enqueue.mockImplementationOnce(really)
    enqueue.mockRejectedValueOnce(gone)
    const answer = await api.client().jobs.enqueueMany.mutate({ jobs })
    expect(answer).toMatchObject({
      ...{ stored: 1, refused: 1 },
      results: [{ created: true }, { error: { code: 'DATABASE_UNAVAILABLE', details: { index: 1 } } }],
    })
    expect(JSON.stringify(answer)).not.toContain('Postgres:')

    enqueue.mockRejectedValueOnce(gone)
    const error = await errorOf(api.client().jobs.enqueueMany.mutate({ jobs }))
    expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    expect(await api.store.stats()).toMatchObject({ pending: 1 })
  })

  it('refuses a filter with too many keys', async () => {
    const api = await startTestApi(dialect)
    const meta = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`k${n}`, n]))
    const error = await errorOf(api.client().jobs.cancel.mutate({ filter: { meta } }))
    expect(error).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('pages by cursor, and refuses the cursor of another filter', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    for (let n = 0; n < 3; n++) await api.enqueue({ topic: 'mail' })
    const first = await client.jobs.list.query({ topic: 'mail', limit: 2 })
    expect(first).toMatchObject({ total: 3, limit: 2, offset: 0 })
    const cursor = first.nextCursor ?? ''
    const second = await client.jobs.list.query({ topic: 'mail', limit: 2, cursor })
    expect(second).toMatchObject({ nextCursor: null, items: [{ topic: 'mail' }] })
    const foreign = await errorOf(client.jobs.list.query({ topic: 'other', cursor }))
    expect(foreign).toMatchObject({ code: 'INVALID_CURSOR' })
  })

  it('lists failures with their counts', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    await api.enqueue({ maxRetries: 0 })
    const { id, run } = await api.claim()
    const error = { class: 'TypeError', message: 'no user', fingerprint: 'f00d' }
    await api.store.settle([{ id, run, kind: 'fail', error }])
    const [group] = await client.jobs.failures.query()
    expect(group).toMatchObject({ fingerprint: 'f00d', retrying: 0, failed: 1, sample: { jobId: id, error } })
    const from = new Date(Date.now() - 600_000)
    const [minute] = await client.jobs.series.query({ from, to: new Date(Date.now() + 60_000) })
    expect(minute).toMatchObject({ failed: 1, completed: 0 })
  })

  it('pauses, limits and configures queues, and says who did', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    await client.queues.pause.mutate({ queue: 'default' })
    await client.queues.limit.mutate({ queue: 'default', limit: { maxRunning: 2 } })
    await client.queues.configure.mutate({ queue: 'default', ageingMs: 60_000 })
    expect(await client.queues.list.query()).toMatchObject([
      { queue: 'default', paused: { by: 'admin' }, limit: { maxRunning: 2, rate: null }, ageingMs: 60_000 },
    ])
    await client.queues.resume.mutate({ queue: 'default' })
    await client.queues.limit.mutate({ queue: 'default', limit: null })
    expect(await client.queues.list.query()).toMatchObject([{ paused: null, limit: null }])
    const { items } = await client.audit.list.query({})
    expect(items.map(({ action }) => action).slice(0, 5)).toEqual([
      'queues.limit',
      'queues.resume',
      'queues.configure',
      'queues.limit',
      'queues.pause',
    ])
  })

  it('saves, lists, runs, pauses and removes schedules', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    const saved = await client.schedules.save.mutate({ name: 'nightly', cron: '0 3 * * *', topic: 'mail' })
    expect(saved).toMatchObject({ name: 'nightly', timezone: 'UTC', missed: 'skip', source: 'database' })
    expect(saved.nextAt).toBeInstanceOf(Date)
    const first = saved.nextAt?.getTime() ?? 0
    expect(saved.nextRuns).toEqual([0, 1, 2].map((days) => new Date(first + days * 86_400_000)))
    expect(await client.schedules.list.query()).toMatchObject([{ nextRuns: saved.nextRuns }])
    const { id } = await client.schedules.runNow.mutate({ name: 'nightly' })
    expect((await client.jobs.get.query({ id })).topic).toBe('mail')
    await client.schedules.pause.mutate({ name: 'nightly' })
    expect(await client.schedules.list.query()).toMatchObject([
      { nextAt: null, nextRuns: [], paused: { by: 'admin' } },
    ])
    await client.schedules.resume.mutate({ name: 'nightly' })
    await client.schedules.remove.mutate({ name: 'nightly' })
    expect(await client.schedules.list.query()).toEqual([])
    const gone = await errorOf(client.schedules.runNow.mutate({ name: 'nightly' }))
    expect(gone).toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
    const wrong = await errorOf(client.schedules.save.mutate({ name: 'x', cron: 'never', topic: 'mail' }))
    expect(wrong).toMatchObject({ code: 'INVALID_CRON' })
  })

  it('takes over a schedule in code only if told to, and says so in the audit', async () => {
    const api = await startTestApi(dialect)
    const client = api.client()
    const schedule = { name: 'mail', cron: '0 3 * * *', topic: 'mail' }
    await api.store.schedules.save({
      ...{ ...schedule, timezone: 'UTC', payload: null, options: {}, missed: 'skip' },
      ...{ source: 'code', service: 'shop' },
    })
    const changed = { ...schedule, cron: '0 4 * * *' }
    expect(await errorOf(client.schedules.save.mutate(changed))).toMatchObject({ code: 'SCHEDULE_IN_CODE' })
    expect(await client.schedules.list.query()).toMatchObject([{ cron: '0 3 * * *', source: 'code' }])
    expect(await client.schedules.save.mutate({ ...changed, takeOver: true })).toMatchObject({
      ...{ cron: '0 4 * * *', source: 'database', service: null },
    })
    const { items } = await client.audit.list.query({ action: 'schedules.save' })
    expect(items).toMatchObject([{ target: { ...changed, takeOver: true } }])
  })

  it('shows workers and topics', async () => {
    const api = await startTestApi(dialect)
    await api.store.announce([{ topic: 'mail', input: { type: 'object' }, output: true, policy: {} }])
    const id = '01900000-0000-7000-8000-00000000000b'
    const presence = await api.store.attend({
      id,
      host: 'box',
      pid: 1,
      queues: ['default'],
      concurrency: 4,
      version: '1',
    })
    expect(await api.client().topics.list.query()).toMatchObject([
      { topic: 'mail', input: { type: 'object' } },
    ])
    expect(await api.client().workers.list.query()).toMatchObject([{ id, host: 'box', concurrency: 4 }])
    expect(await api.client().health.get.query()).toMatchObject({
      workers: { alive: 1, slots: 4, running: 0 },
    })
    await presence.leave()
  })

  it('shows which services have different schemas of a topic', async () => {
    const api = await startTestApi(dialect)
    const info = { host: 'box', pid: 1, queues: ['default'], concurrency: 4, version: '1' }
    const join = async (service: string, input: object) => {
      const worker = randomUUID()
      const topics = [{ topic: 'report', input, output: {}, policy: {} }]
      await api.store.announce(topics, { worker, service })
      return api.store.attend({ id: worker, ...info })
    }
    const presences = [await join('billing', { type: 'object' })]
    expect(await api.client().topics.list.query()).toMatchObject([{ topic: 'report', clash: null }])
    presences.push(await join('reports', { type: 'string' }))
    expect(await api.client().topics.list.query()).toMatchObject([
      {
        topic: 'report',
        clash: [
          { services: ['billing'], workers: 1 },
          { services: ['reports'], workers: 1 },
        ],
      },
    ])
    for (const presence of presences) await presence.leave()
  })

  it('returns errors with a code, message and hint, in addition to the fields of tRPC', async () => {
    const api = await startTestApi(dialect)
    const id = '01900000-0000-7000-8000-000000000000'
    const response = await api.fetch(
      `/trpc/jobs.get?input=${encodeURIComponent(JSON.stringify({ json: { id } }))}`,
    )
    expect(response.status).toBe(404)
    expect(response.headers.get('x-request-id')).toBeTruthy()
    expect(await response.json()).toEqual({
      error: {
        json: {
          code: -32004,
          message: `There is no job ${id}`,
          data: {
            code: 'NOT_FOUND',
            httpStatus: 404,
            path: 'jobs.get',
            oncue: {
              code: 'JOB_NOT_FOUND',
              message: `There is no job ${id}`,
              hint: ERRORS.JOB_NOT_FOUND.hint,
            },
          },
        },
      },
    })
  })

  it.each([
    ['an unknown procedure', '/trpc/jobs.steal', {}, 404, 'NOT_FOUND'],
    ['the wrong method', '/trpc/jobs.enqueue', {}, 405, 'METHOD_NOT_ALLOWED'],
    ['a body that is no JSON', '/trpc/jobs.enqueue', { body: '{' }, 400, 'INVALID_JSON'],
    ['a body without json', '/trpc/jobs.enqueue', { body: '{"topic":"mail"}' }, 400, 'INVALID_INPUT'],
    ['an input that is no JSON', '/trpc/jobs.get?input=%7B', {}, 400, 'INVALID_JSON'],
    [
      'a body above 10 MB',
      '/trpc/jobs.enqueue',
      { body: `"${'x'.repeat(10_485_760)}"` },
      413,
      'PAYLOAD_TOO_LARGE',
    ],
    ['a nest of meta', '/trpc/jobs.enqueue', { body: nested(10_000) }, 400, 'INVALID_INPUT'],
    [
      'a media type that is none',
      '/trpc/jobs.enqueue',
      { body: '{}', type: 'text/plain' },
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
  ])(
    'refuses %s in the same shape',
    async (_, path, { body, type }: { body?: string; type?: string }, status, code) => {
      const api = await startTestApi(dialect)
      const headers = body === undefined ? {} : { 'content-type': type ?? 'application/json' }
      const response = await api.fetch(path, { headers, ...(body !== undefined && { body }) })
      const answer = await response.json()
      expect(answer).toMatchObject({ error: { json: { data: { httpStatus: status, oncue: { code } } } } })
      expect(response.status).toBe(status)
      expect((await api.fetch('/healthz')).status).toBe(200)
    },
  )

  // A single call does not go through tRPC's adapter, a batch does: the response must be the same.
  it.each([
    ['a query', 'GET', 'queues.list', undefined],
    ['a query with input', 'GET', 'jobs.list', { json: { limit: 5 } }],
    [
      'a query with dates',
      'GET',
      'jobs.failures',
      { json: { since: DATE }, meta: { values: { since: ['Date'] } } },
    ],
    ['a mutation', 'POST', 'queues.pause', { json: { queue: 'default' } }],
    ['a job that is not there', 'GET', 'jobs.get', { json: { id: '01900000-0000-7000-8000-000000000000' } }],
    ['wrong input', 'POST', 'jobs.enqueue', { json: { topic: 'no topic' } }],
    ['input that is not wrapped', 'POST', 'jobs.enqueue', { topic: 'mail' }],
    ['no input', 'GET', 'jobs.get', undefined],
  ])('returns the same for %s alone as in a batch', async (_, method, path, input) => {
    const api = await startTestApi(dialect)
    const call = async (query: string, value: unknown) => {
      const text = JSON.stringify(value)
      const response =
        method === 'GET'
          ? await api.fetch(`/trpc/${path}?${query}${text ? `&input=${encodeURIComponent(text)}` : ''}`)
          : await api.fetch(`/trpc/${path}?${query}`, { json: value })
      return {
        status: response.status,
        type: response.headers.get('content-type'),
        body: await response.json(),
      }
    }
    const alone = await call('', input)
    const together = await call('batch=1', input === undefined ? undefined : { 0: input })
    expect(alone.body).toEqual((together.body as unknown[])[0])
    expect(alone.status).toBe(together.status)
    expect(alone.type).toContain('application/json')
  })

  it('hides internal errors, and returns the request id instead', async () => {
    const api = await startTestApi(dialect)
    await api.store.close()
    const headers = { 'x-request-id': 'my-request' }
    const response = await api.fetch('/trpc/queues.list', { headers })
    const { error } = (await response.json()) as { error: { json: { message: string; data: unknown } } }
    expect(error.json.data).toMatchObject({ oncue: { details: { requestId: 'my-request' } } })
    expect(error.json.message).toContain('my-request')
    expect(response.headers.get('x-request-id')).toBe('my-request')
  })
})

const DATE = '2026-01-01T00:00:00.000Z'

function nested(depth: number): string {
  return `{"json":{},"meta":${'['.repeat(depth)}${']'.repeat(depth)}}`
}
