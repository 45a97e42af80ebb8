import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ADMIN_TOKEN, DIALECTS, type Dialect, errorOf, startTestApi } from './harness.ts'

async function start(dialect: Dialect) {
  const api = await startTestApi(dialect)
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const get = async (path: string) => {
    const response = await fetch(`${api.url}${path}`, { headers })
    return { status: response.status, body: await response.json() }
  }
  return { store: api.store, client: api.client(), get }
}

const INFO = { host: 'box', pid: 42, queues: ['mail'], concurrency: 2, version: '1.2.3' }

describe.each(DIALECTS)('workers over the API on %s', (dialect) => {
  it('are listed without those that ended, and with them on request', async () => {
    const { client, store, get } = await start(dialect)
    const [here, gone] = [randomUUID(), randomUUID()]
    const presence = await store.attend({ id: here, ...INFO })
    await (await store.attend({ id: gone, ...INFO })).leave()
    expect((await client.workers.list.query()).map(({ id }) => id)).toEqual([here])
    expect(await client.workers.list.query({ ended: true })).toMatchObject([
      { id: here, ended: null },
      { id: gone, ended: { how: 'stopped', released: 0, failed: 0 } },
    ])
    expect((await get('/api/workers')).body.items).toMatchObject([{ id: here, ended: null }])
    expect((await get('/api/workers?ended=true')).body.items).toMatchObject([
      { id: here, last_beat: expect.any(String) },
      { id: gone, ended: { how: 'stopped', at: expect.any(String) } },
    ])
    await presence.leave()
  })

  it('show what runs on them', async () => {
    const { client, store, get } = await start(dialect)
    const worker = randomUUID()
    const presence = await store.attend({ id: worker, ...INFO })
    const { id } = await client.jobs.enqueue.mutate({ topic: 'digest', queue: 'mail' })
    await store.claim({ queues: ['mail'], limit: 1, worker, leaseMs: 60_000 })
    const run = { id, queue: 'mail', topic: 'digest', run: 1, outcome: null }
    expect(await client.workers.get.query({ id: worker })).toMatchObject({
      ...{ id: worker, running: 1, runsAreComplete: true },
      runs: [{ ...run, startedAt: expect.any(Date) }],
    })
    expect((await get(`/api/workers/${worker}`)).body).toMatchObject({
      ...{ id: worker, runs_are_complete: true },
      runs: [{ ...run, started_at: expect.any(String) }],
    })
    const unknown = randomUUID()
    expect(await errorOf(client.workers.get.query({ id: unknown }))).toMatchObject({
      code: 'WORKER_NOT_FOUND',
    })
    expect(await get(`/api/workers/${unknown}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'WORKER_NOT_FOUND' } },
    })
    await presence.leave()
  })
})

describe.each(DIALECTS)('why a queue waits, over the API on %s', (dialect) => {
  it('is told with who paused it, over tRPC and REST', async () => {
    const { client, get } = await start(dialect)
    await client.jobs.enqueue.mutate({ topic: 'digest', queue: 'mail' })
    await client.queues.pause.mutate({ queue: 'mail' })
    const expected = {
      queue: 'mail',
      waiting: 1,
      reasons: [{ kind: 'paused', text: expect.stringContaining('was paused by') }, { kind: 'no_worker' }],
      drain: null,
    }
    expect(await client.queues.explain.query({ queue: 'mail' })).toMatchObject(expected)
    expect((await get('/api/queues/mail/explain')).body).toMatchObject(expected)
  })

  it('is told with the pace of its workers', async () => {
    const { client, store, get } = await start(dialect)
    const presence = await store.attend({ id: randomUUID(), ...INFO })
    await client.jobs.enqueue.mutate({ topic: 'digest', queue: 'mail' })
    expect((await get('/api/queues/mail/explain')).body).toMatchObject({
      reasons: [],
      drain: { slots: 2, busy: 0, per_minute: 0, about_ms: null, with_slots: null },
    })
    await presence.leave()
  })
})

describe.each(DIALECTS)('a preview of a schedule on %s', (dialect) => {
  it('is the next runs, and what is wrong with a pattern', async () => {
    const { client, get } = await start(dialect)
    const { runs } = await client.schedules.preview.query({ cron: '0 9 * * *', timezone: 'Asia/Shanghai' })
    expect(runs.map((run) => run.toISOString().slice(11))).toEqual(Array(5).fill('01:00:00.000Z'))
    const hourly = await get('/api/schedules/preview?cron=0+*+*+*+*&count=3')
    expect(hourly).toMatchObject({
      status: 200,
      body: { runs: Array(3).fill(expect.stringMatching(/:00:00\.000Z$/)) },
    })
    expect(await get('/api/schedules/preview?cron=0+25+*+*+*')).toMatchObject({
      status: 400,
      body: {
        error: { code: 'INVALID_CRON', message: expect.stringContaining('hour "25" must be 0-23') },
      },
    })
    expect(await get('/api/schedules/preview?cron=0+9+*+*+*&count=11')).toMatchObject({ status: 400 })
    expect(await client.schedules.list.query()).toEqual([])
  })
})
