import { randomUUID } from 'node:crypto'
import { prepareJob } from '@oncue/core'
import type { BulkOperation } from '@oncue/core/wire'
import { connectPostgres } from '@oncue/db/testing'
import { eventually } from '@oncue/testing'
import { describe, expect, it } from 'vitest'
import {
  type Client,
  createDatabase,
  DIALECTS,
  errorOf,
  failJobs,
  startTestApi,
  type TestApi,
} from './harness.ts'
import { startProxy } from './proxy.ts'

const FAILED = { status: 'failed' } as const

/** Requeues all failed jobs unless changed, with the moment and the count of a preview. */
async function request(api: TestApi, changes: object = {}) {
  const { asOf, count } = await api
    .client()
    .bulkOperations.preview.query({ action: 'requeue', filter: FAILED, ...changes })
  return {
    ...{ action: 'requeue' as const, filter: FAILED, asOf, expectedCount: count },
    ...{ idempotencyKey: randomUUID(), ...changes },
  }
}

/** All messages of an operation until its end. */
function watch(
  client: Client,
  id: string,
  lastEventId: string | null = null,
  told: BulkOperation[] = [],
): Promise<BulkOperation[]> {
  return new Promise((resolve, reject) => {
    client.bulkOperations.watch.subscribe(
      { id, lastEventId },
      {
        onData: ({ data }) => told.push(data),
        onComplete: () => resolve(told),
        onError: reject,
      },
    )
  })
}

/** All messages until the outcome of every job is known. */
function watchOutcomes(client: Client, id: string): Promise<BulkOperation[]> {
  const told: BulkOperation[] = []
  return new Promise((resolve, reject) => {
    client.bulkOperations.watch.subscribe(
      { id, outcomes: true },
      { onData: ({ data }) => told.push(data), onComplete: () => resolve(told), onError: reject },
    )
  })
}

/** Claims up to `limit` due jobs and settles them. */
async function endJobs(
  { store }: TestApi,
  limit: number,
  kind: 'complete' | 'fail' | 'retry',
): Promise<void> {
  const worker = randomUUID()
  const { jobs } = await store.claim({ queues: ['default'], limit, worker, leaseMs: 60_000 })
  expect(jobs).toHaveLength(limit)
  const error = { class: 'TypeError', message: 'no user', fingerprint: 'f00d' }
  await store.settle(
    jobs.map(({ id, run }) => {
      if (kind === 'retry') return { id, run, kind, error, delayMs: 3_600_000 }
      return kind === 'fail' ? { id, run, kind, error } : { id, run, kind }
    }),
  )
}

const requeuesOf = async ({ store }: TestApi, ids: readonly string[]) => {
  const streams = await Promise.all(ids.map((id) => store.events.list(id)))
  return streams.map((events) => events.filter(({ type }) => type === 'requeued').length)
}

const audited = async (api: TestApi) =>
  (await api.client().audit.list.query({ action: 'bulkOperations.*', limit: 10 })).items

describe.each(DIALECTS)('bulk operations on %s', (dialect) => {
  it('are previewed, run, watched to their end, and recorded in the audit', async () => {
    const api = await startTestApi(dialect)
    const ids = await failJobs(api.store, 612)
    await failJobs(api.store, 5, { topic: 'other' })
    const operator = api.client(await api.tokenFor('operator'))
    const filter = { status: 'failed', topic: 'mail_digest' } as const

    const seen = await operator.bulkOperations.preview.query({ action: 'requeue', filter })
    expect(seen).toMatchObject({
      ...{ count: 612, countIsExact: true, byStatus: { failed: 612 } },
      byError: [{ class: 'TypeError', message: 'no user', count: 612 }],
    })
    expect(seen.sample).toHaveLength(10)

    const begun = await operator.bulkOperations.run.mutate({
      ...{ action: 'requeue', filter, asOf: seen.asOf, expectedCount: seen.count, idempotencyKey: 'k' },
    })
    expect(begun).toMatchObject({
      ...{ action: 'requeue', filter, asOf: seen.asOf, spreadSeconds: 0 },
      ...{ status: 'running', total: 612, totalIsExact: true, done: 0, skipped: {}, error: null },
      ...{ by: { name: 'operator' }, stoppedBy: null, finishedAt: null },
    })
    const told = await watch(operator, begun.id)
    const ended = { status: 'completed', done: 612, skipped: {}, finishedAt: expect.any(Date) }
    expect(told.at(-1)).toMatchObject(ended)
    expect(await operator.bulkOperations.get.query({ id: begun.id })).toEqual(told.at(-1))
    expect(await operator.bulkOperations.list.query({ status: 'completed' })).toEqual({
      items: [told.at(-1)],
      nextCursor: null,
    })

    expect(await requeuesOf(api, ids)).toEqual(ids.map(() => 1))
    expect(await api.store.stats()).toMatchObject({ pending: 612, failed: 5 })
    const [event] = (await api.store.events.list(ids[0] ?? '')).slice(-1)
    expect(event).toMatchObject({ type: 'requeued', data: { by: 'operator' } })
    expect(await audited(api)).toMatchObject([
      {
        actor: { name: 'operator', kind: 'token' },
        action: 'bulkOperations.end',
        target: { id: begun.id, action: 'requeue', status: 'completed', skipped: {} },
        count: 612,
      },
      {
        actor: { name: 'operator' },
        action: 'bulkOperations.run',
        target: { id: begun.id, filter },
        count: 612,
      },
    ])
  })

  it('of a fingerprint say which error that is, also when no job has it any more', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 3)
    const [group] = await api.store.failures()
    const filter = { status: 'failed', fingerprint: group?.fingerprint ?? '' } as const
    const client = api.client()
    const { asOf } = await client.bulkOperations.preview.query({ action: 'delete', filter })
    const { id, filterError } = await client.bulkOperations.run.mutate({
      ...{ action: 'delete', filter, asOf, expectedCount: 3, idempotencyKey: 'k' },
    })
    expect(filterError).toEqual({ class: 'TypeError', message: 'no user' })
    await watch(client, id)
    expect(await api.store.failures()).toEqual([])
    expect(await client.bulkOperations.get.query({ id })).toMatchObject({ done: 3, filterError })
    expect((await audited(api)).at(-1)).toMatchObject({ target: { id, filter, filterError } })
  })

  it('run a canary, continue by themselves when it completes, and report all outcomes', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 40)
    const canary = { count: 5, maxFailed: 0 }
    const { id, status } = await api.client().bulkOperations.run.mutate({ ...(await request(api)), canary })
    expect(status).toBe('canary')
    const get = () => api.client().bulkOperations.get.query({ id })
    await eventually(async () => expect((await get()).done).toBe(5))
    const all = watchOutcomes(api.client(), id)
    await endJobs(api, 5, 'complete')
    await eventually(async () => expect(await get()).toMatchObject({ status: 'completed', done: 40 }))
    await endJobs(api, 34, 'complete')
    await endJobs(api, 1, 'fail')
    expect((await all).at(-1)).toMatchObject({
      outcomes: { completed: 39, running: 0, waiting: 0, failedAgain: 1, cancelled: 0 },
    })
  })

  it('stop by themselves when the canary fails again, and say so', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 40)
    const canary = { count: 5, maxFailed: 1 }
    const { id } = await api.client().bulkOperations.run.mutate({ ...(await request(api)), canary })
    const get = () => api.client().bulkOperations.get.query({ id })
    await eventually(async () => expect((await get()).done).toBe(5))
    await endJobs(api, 2, 'fail')
    await eventually(async () =>
      expect(await get()).toMatchObject({
        ...{ status: 'stopped', done: 5, stoppedBy: null, canary },
        error: { code: 'FAILED_AGAIN', message: '2 of 5 failed again' },
      }),
    )
    const [end] = await audited(api)
    expect(end).toMatchObject({ action: 'bulkOperations.end', target: { id, status: 'stopped' }, count: 5 })
  })

  it('over HTTP have snake_case names at every depth, and take either in a request', async () => {
    const api = await startTestApi(dialect)
    const filter = { status: 'failed', created_from: '2026-01-08T12:00:00.000Z', meta: { tenantId: '7' } }
    const start = async (canary: object) => {
      const json = { action: 'requeue', filter, as_of: new Date(), expected_count: 0, canary }
      const response = await api.fetch('/api/bulk', { json: { ...json, idempotency_key: randomUUID() } })
      return { status: response.status, body: await response.json() }
    }
    const { status, body } = await start({ count: 5, max_failed: 2 })
    expect(status).toBe(202)
    const shown = {
      filter,
      canary: { count: 5, max_failed: 2 },
      outcomes: { completed: 0, running: 0, waiting: 0, failed_again: 0, cancelled: 0 },
    }
    expect(body).toMatchObject(shown)
    expect(await (await api.fetch(`/api/bulk/${body.id}`)).json()).toMatchObject(shown)
    expect(await (await api.fetch('/api/bulk')).json()).toMatchObject({ items: [shown] })
    expect((await start({ count: 5, maxFailed: 1 })).body.canary).toEqual({ count: 5, max_failed: 1 })
    expect((await start({ count: 5 })).body.canary).toEqual({ count: 5, max_failed: 0 })
    const twice = await start({ count: 5, max_failed: 2, maxFailed: 2 })
    expect([twice.status, twice.body.error.message]).toEqual([
      400,
      expect.stringContaining('canary.max_failed: is also given as maxFailed'),
    ])
  })

  it('have an outcome for jobs that failed again and will be retried: the stream of outcomes ends', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 40, { maxRetries: 5 })
    const canary = { count: 5, maxFailed: 0 }
    const { id } = await api.client().bulkOperations.run.mutate({ ...(await request(api)), canary })
    const get = () => api.client().bulkOperations.get.query({ id })
    await eventually(async () => expect((await get()).done).toBe(5))
    const all = watchOutcomes(api.client(), id)
    await endJobs(api, 5, 'retry')
    expect((await all).at(-1)).toMatchObject({
      status: 'stopped',
      outcomes: { completed: 0, running: 0, waiting: 0, failedAgain: 5, cancelled: 0 },
    })
    expect((await api.client().jobs.list.query({ status: 'pending' })).total).toBe(5)
  })

  it('over HTTP stop by themselves when more than so many fail again, and say why', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 1_500)
    const filter = { status: 'failed', topic: 'mail_digest' }
    const asked = { action: 'requeue', filter, stop_when_failing: 0.2 }
    const post = async (path: string, json: object) => {
      const response = await api.fetch(path, { json })
      return (await response.json()) as Record<string, unknown>
    }
    const { as_of, count } = await post('/api/bulk/preview', { action: 'requeue', filter })
    expect(count).toBe(1_500)
    const { id, status } = await post('/api/bulk', {
      ...{ ...asked, as_of, expected_count: count, idempotency_key: randomUUID() },
    })
    expect(status).toBe('running')
    const get = async () => (await api.fetch(`/api/bulk/${id}`)).json()

    // It does not run far ahead of what it waits for, and a worker fails most of that again.
    await eventually(async () => expect(await get()).toMatchObject({ outcomes: { waiting: 1_000 } }))
    await endJobs(api, 70, 'complete')
    await endJobs(api, 30, 'fail')
    await eventually(async () =>
      expect(await get()).toMatchObject({
        ...{ status: 'stopped', done: 1_000, stopped_by: null, stop_when_failing: 0.2 },
        error: { code: 'FAILED_AGAIN', message: '30 of 100 failed again, more than 20%' },
        outcomes: { completed: 70, failed_again: 30, waiting: 900, running: 0 },
      }),
    )
    expect(await api.store.stats()).toMatchObject({ pending: 900, failed: 530, completed: 70 })
    const [end] = await audited(api)
    expect(end).toMatchObject({ action: 'bulkOperations.end', target: { id, status: 'stopped' } })
  })

  it('run jobs now that wait for their next try', async () => {
    const api = await startTestApi(dialect)
    await api.store.enqueue([prepareJob('mail_digest', null, { delay: 3_600_000 })])
    const changes = { action: 'run_now', filter: { status: 'pending' } }
    const { id } = await api.client().bulkOperations.run.mutate(await request(api, changes))
    expect((await watch(api.client(), id)).at(-1)).toMatchObject({ done: 1, outcomes: { waiting: 1 } })
    await endJobs(api, 1, 'complete')
  })

  it.each([
    [{ canary: { count: 2, maxFailed: 2 } }, 'canary.maxFailed: must be less than canary.count'],
    [{ action: 'delete', canary: { count: 2 } }, 'canary: a delete has no outcome to wait for'],
    [{ action: 'delete', stopWhenFailing: 0.2 }, 'stopWhenFailing: a delete has no outcome to wait for'],
  ])('are refused with %j', async (changes, message) => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 3)
    const asked = { ...(await request(api)), ...changes } as Awaited<ReturnType<typeof request>>
    const error = await errorOf(api.client().bulkOperations.run.mutate(asked))
    expect(error).toMatchObject({ code: 'INVALID_INPUT', message: `input.${message}` })
  })

  it('are started and audited once when their request is repeated', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 3)
    const asked = await request(api)
    const answers = await Promise.all([1, 2, 3].map(() => api.client().bulkOperations.run.mutate(asked)))
    const again = await api.client().bulkOperations.run.mutate(asked)
    const ids = new Set([...answers, again].map(({ id }) => id))
    expect(ids.size).toBe(1)
    await watch(api.client(), again.id)
    const actions = (await audited(api)).map(({ action }) => action)
    expect(actions).toEqual(['bulkOperations.end', 'bulkOperations.run'])
  })

  it.each([
    {},
    { meta: {} },
    { idPrefix: '' },
    { fingerprint: ' ' },
    { payloadText: '', createdFrom: new Date(0) },
  ])('are refused for %j, which would match every job', async (filter) => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 3)
    const code = 'INVALID_INPUT'
    const look = api.client().bulkOperations.preview.query({ action: 'delete', filter })
    expect(await errorOf(look)).toMatchObject({ code })
    expect(await errorOf(api.client().jobs.delete.mutate({ filter }))).toMatchObject({ code })
    expect(await api.store.stats()).toMatchObject({ failed: 3 })
  })

  it('leave alone jobs that fail after the moment of the preview', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 20)
    const asked = await request(api)
    const later = await failJobs(api.store, 7)
    const { id } = await api.client().bulkOperations.run.mutate(asked)
    expect((await watch(api.client(), id)).at(-1)).toMatchObject({ total: 20, done: 20, skipped: {} })
    expect(await requeuesOf(api, later)).toEqual(later.map(() => 0))
    expect(await api.store.stats()).toMatchObject({ pending: 20, failed: 7 })
  })

  it('report which jobs they skipped and why', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 3)
    await api.enqueue()
    const asked = await request(api, { action: 'cancel', filter: { topic: 'mail_digest' } })
    const { id } = await api.client().bulkOperations.run.mutate(asked)
    expect((await watch(api.client(), id)).at(-1)).toMatchObject({ done: 1, skipped: { INVALID_STATE: 3 } })
  })

  it('are refused when far more or fewer jobs match than were expected', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 200)
    const asked = await request(api)
    const run = (expectedCount: number) =>
      api.client().bulkOperations.run.mutate({ ...asked, expectedCount, idempotencyKey: randomUUID() })
    for (const expectedCount of [0, 100, 181, 223, 1_000]) {
      expect(await errorOf(run(expectedCount))).toMatchObject({
        code: 'COUNT_MISMATCH',
        message: `200 jobs match, but ${expectedCount} were expected`,
        details: { count: 200, countIsExact: true, expectedCount },
      })
    }
    expect((await api.client().bulkOperations.list.query()).items).toEqual([])
    expect(await run(182)).toMatchObject({ total: 200 })
  })

  it('of few jobs are not refused for a small difference', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 12)
    const asked = await request(api)
    expect(
      await errorOf(api.client().bulkOperations.run.mutate({ ...asked, expectedCount: 1 })),
    ).toMatchObject({
      code: 'COUNT_MISMATCH',
    })
    expect(await api.client().bulkOperations.run.mutate({ ...asked, expectedCount: 2 })).toMatchObject({
      total: 12,
    })
  })

  it('are started once per key, even after they have ended and nothing matches', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 30)
    const asked = await request(api)
    const run = (changes: object = {}) => api.client().bulkOperations.run.mutate({ ...asked, ...changes })
    const [first, second] = await Promise.all([run(), run()])
    expect(second.id).toBe(first.id)
    const [last] = (await watch(api.client(), first.id)).slice(-1)
    expect(await run()).toEqual(last)
    expect(await errorOf(run({ action: 'delete' }))).toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining(first.id),
    })
    // Another caller's key is independent.
    const other = api.client(await api.tokenFor('operator'))
    expect(await errorOf(other.bulkOperations.run.mutate(asked))).toMatchObject({ code: 'COUNT_MISMATCH' })
    expect((await api.client().bulkOperations.list.query()).items).toHaveLength(1)
  })

  it('can be spread over a time, and stopped in between', async () => {
    const api = await startTestApi(dialect)
    const ids = await failJobs(api.store, 600)
    const asked = { ...(await request(api)), spreadSeconds: 600 }
    const { id } = await api.client().bulkOperations.run.mutate(asked)
    const told: BulkOperation[] = []
    const ended = watch(api.client(), id, null, told)
    await eventually(() => expect(told.length).toBeGreaterThan(1))
    const operator = api.client(await api.tokenFor('operator'))
    const stopped = await operator.bulkOperations.stop.mutate({ id })
    expect(stopped).toMatchObject({ status: 'stopped', stoppedBy: 'operator', skipped: {} })
    // One job a second, with a message for each.
    expect(told.slice(0, 2)).toMatchObject([{ status: 'running' }, { status: 'running' }])
    expect((await ended).at(-1)).toEqual(stopped)
    expect(stopped.done).toBeLessThan(60)

    expect((await requeuesOf(api, ids)).filter((count) => count === 1)).toHaveLength(stopped.done)
    expect(await operator.bulkOperations.stop.mutate({ id })).toEqual(stopped)
    expect((await audited(api)).slice(0, 2)).toMatchObject([
      { actor: { name: 'operator' }, action: 'bulkOperations.stop', target: { id }, count: stopped.done },
      { actor: { name: 'operator' }, action: 'bulkOperations.stop', target: { id }, count: stopped.done },
    ])
  })

  it('take about as long as they were spread over', async () => {
    const api = await startTestApi(dialect)
    await failJobs(api.store, 30)
    const asked = { ...(await request(api)), spreadSeconds: 3 }
    const { id, created } = await api.client().bulkOperations.run.mutate(asked)
    const told = await watch(api.client(), id)
    const { done, finishedAt } = told.at(-1) ?? {}
    expect(done).toBe(30)
    expect(told.map((operation) => operation.done)).toEqual(expect.arrayContaining([10, 20]))
    // The last of three jobs is due after two seconds.
    expect((finishedAt?.getTime() ?? 0) - created.getTime()).toBeGreaterThan(1_800)
  })

  it('continue where they were when the API is restarted', async () => {
    const database = await createDatabase(dialect)
    const first = await startTestApi({ url: database.url })
    const ids = await failJobs(first.store, 1_200)
    const { id } = await first.client().bulkOperations.run.mutate(await request(first))
    await eventually(async () => {
      expect((await first.control.bulkOperations.get(id))?.done).toBeGreaterThan(0)
    })
    await first.close()

    const second = await startTestApi({ url: database.url })
    expect((await watch(second.client(), id)).at(-1)).toMatchObject({
      ...{ status: 'completed', total: 1_200, done: 1_200, skipped: {} },
    })
    expect(await requeuesOf(second, ids)).toEqual(ids.map(() => 1))
    await second.close()
    await database.drop()
  })

  it('that cannot continue say why', async () => {
    const api = await startTestApi(dialect)
    // The API would refuse this filter: a search in payloads needs a time.
    const { id } = await api.control.bulkOperations.create({
      ...{ action: 'requeue', filter: { payloadText: 'x' }, asOf: await api.store.now(), spreadMs: 0 },
      ...{ idempotencyKey: 'k', actor: { id: 't1', name: 'Ada', kind: 'token' } },
      ...{ total: 5, totalIsExact: true },
    })
    expect((await watch(api.client(), id)).at(-1)).toMatchObject({
      status: 'failed',
      error: { code: 'INVALID_INPUT', message: expect.stringContaining('needs createdFrom') },
    })
  })

  it('refuse a status on which the action has no effect, a moment in the future, and an unknown id', async () => {
    const api = await startTestApi(dialect)
    const preview = (changes: object) => errorOf(request(api, changes))
    expect(await preview({ filter: { status: 'pending' } })).toMatchObject({
      code: 'INVALID_INPUT',
      message: 'input.filter.status: pending jobs cannot be requeued',
    })
    expect(await preview({ action: 'cancel', filter: FAILED })).toMatchObject({ code: 'INVALID_INPUT' })
    expect(await preview({ action: 'delete', filter: { status: 'completed' } })).toMatchObject({
      code: 'INVALID_INPUT',
    })
    const asOf = new Date(Date.now() + 60_000)
    expect(await preview({ asOf })).toMatchObject({
      code: 'INVALID_INPUT',
      message: `input.asOf: must not be in the future, got ${asOf.toISOString()}`,
    })
    const { bulkOperations } = api.client()
    for (const call of [bulkOperations.get.query, bulkOperations.stop.mutate])
      expect(await errorOf(call({ id: randomUUID() }))).toMatchObject({ code: 'BULK_OPERATION_NOT_FOUND' })
    await expect(watch(api.client(), randomUUID())).rejects.toMatchObject({
      data: { oncue: { code: 'BULK_OPERATION_NOT_FOUND' } },
    })
  })

  it('do not reveal masked values', async () => {
    const api = await startTestApi(dialect)
    const filter = { meta: { password: 'hunter2' } }
    await api.enqueue({ meta: filter.meta })
    const asked = await request(api, { action: 'delete', filter })
    const operator = api.client(await api.tokenFor('operator'))
    const { expectedCount: _, idempotencyKey: __, ...look } = asked
    expect(await errorOf(operator.bulkOperations.preview.query(look))).toMatchObject({ code: 'FORBIDDEN' })
    expect(await errorOf(operator.bulkOperations.run.mutate(asked))).toMatchObject({ code: 'FORBIDDEN' })
    const { id } = await api.client().bulkOperations.run.mutate(asked)
    const [last] = (await watch(operator, id)).slice(-1)
    expect(last).toMatchObject({ done: 1, filter: { meta: { password: '[masked]' } } })
    expect(await operator.bulkOperations.get.query({ id })).toEqual(last)
    expect((await operator.bulkOperations.list.query()).items).toEqual([last])
    expect((await api.client().bulkOperations.get.query({ id })).filter).toEqual(filter)
    const { items } = await operator.audit.list.query({ action: 'bulkOperations.run', limit: 1 })
    expect(items).toMatchObject([{ target: { id, filter: { meta: { password: '[masked]' } } } }])
  })

  it('do not show others what an admin searched payloads for', async () => {
    const api = await startTestApi(dialect)
    const filter = { payloadText: 'hunter2', createdFrom: new Date(Date.now() - 60_000) }
    await api.enqueue({ payload: { password: 'hunter2' } })
    const asked = await request(api, { action: 'cancel', filter })
    const { id } = await api.client().bulkOperations.run.mutate(asked)
    await api.client().jobs.cancel.mutate({ filter })

    const viewer = api.client(await api.tokenFor('viewer'))
    const operator = api.client(await api.tokenFor('operator'))
    const seen = [
      await viewer.bulkOperations.get.query({ id }),
      await viewer.bulkOperations.list.query(),
      await watch(viewer, id),
      await operator.bulkOperations.stop.mutate({ id }),
      await operator.audit.list.query({ action: 'bulkOperations.*' }),
      await operator.audit.list.query({ action: 'jobs.*' }),
    ]
    for (const answer of seen) {
      expect(JSON.stringify(answer)).not.toContain('hunter2')
      expect(JSON.stringify(answer)).toContain('cancel')
    }
    expect(seen[0]).toMatchObject({ filter: { payloadText: '[masked]' } })
    expect(await api.client().bulkOperations.get.query({ id })).toMatchObject({
      filter: { payloadText: 'hunter2' },
    })
  })

  it('are resumed by a client after its last message', async () => {
    const api = await startTestApi(dialect)
    const { id } = await api.client().bulkOperations.run.mutate(await request(api))
    expect((await watch(api.client(), id)).at(-1)).toMatchObject({ status: 'completed' })
    expect(await watch(api.client(), id, '1-completed')).toEqual([])
    expect(await watch(api.client(), id, '0-running')).toHaveLength(1)
  })
})

describe('bulk operations on a Postgres that fails', () => {
  it('continue when it is back', async () => {
    const database = await createDatabase('postgres')
    const proxy = await startProxy(database.url)
    const api = await startTestApi({ url: proxy.url })
    const ids = await failJobs(api.store, 1_200)
    const { id } = await api.client().bulkOperations.run.mutate(await request(api))
    await eventually(async () => {
      expect((await api.control.bulkOperations.get(id))?.done).toBeGreaterThan(0)
    })
    // No server listens there.
    proxy.target = 'postgres://127.0.0.1:1'
    proxy.cut()
    await eventually(async () => {
      await expect(api.store.now()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    })
    proxy.target = database.url
    await eventually(async () => {
      expect(await api.control.bulkOperations.get(id)).toMatchObject({ status: 'completed', done: 1_200 })
    })
    expect(await requeuesOf(api, ids)).toEqual(ids.map(() => 1))
    await api.close()
    await database.drop()
  })

  it('keep what they did, and reveal no internals', async () => {
    const database = await createDatabase('postgres')
    const api = await startTestApi({ url: database.url })
    const ids = await failJobs(api.store, 900)
    const session = await connectPostgres(database.url)
    await session.query(`create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'the secret of table %', tg_table_name; end $$`)
    await session.query(`create trigger refuse before insert on oncue.jobs for each row
      when (new.id = '${ids.toSorted()[700]}') execute function refuse()`)
    const { id } = await api.client().bulkOperations.run.mutate(await request(api))
    const [last] = (await watch(api.client(), id)).slice(-1)
    expect(last).toMatchObject({ status: 'failed', done: 500, skipped: {} })
    expect(last?.error?.message).toBe(`Internal error; see the server log for bulk operation ${id}`)
    expect(await api.store.stats()).toMatchObject({ pending: 500, failed: 400 })
    await session.end()
    await api.close()
    await database.drop()
  })
})
