import { LIMITS, newJobId } from '@oncue/core'
import { openStore } from '@oncue/db'
import { systemRuntime } from '@oncue/runtime'
import { describe, expect, it } from 'vitest'
import { startProcess } from './api-process.ts'
import { ADMIN_TOKEN, createClient, createDatabase, DIALECTS, startTestApi } from './harness.ts'

describe.each(DIALECTS)('a repeated request, on %s', (dialect) => {
  const topic = 'mail'

  it('makes one job, even if the first attempt arrives after the repeat and the end of the job', async () => {
    const api = await startTestApi(dialect)
    const { jobs } = api.client()
    const request = { topic, payload: { n: 1 }, requestId: newJobId() }
    const { id, created } = await jobs.enqueue.mutate({ ...request, isRepeat: true })
    expect(created).toBe(true)
    expect(await jobs.enqueue.mutate({ ...request, isRepeat: true })).toMatchObject({ id, created: false })
    await api.complete(await api.claim())
    for (const isRepeat of [true, false])
      expect(await jobs.enqueue.mutate({ ...request, isRepeat })).toMatchObject({ id, created: false })
    expect(await jobs.stats.query()).toMatchObject({ pending: 0, completed: 1 })
  })

  it('makes each job of a batch once, in order', async () => {
    const { jobs } = (await startTestApi(dialect)).client()
    const items = Array.from({ length: 20 }, (_, n) => ({ topic, payload: n, requestId: newJobId() }))
    const chain = items.map((item, n) => (n === 0 ? item : { ...item, afterItems: [n - 1] }))
    const send = async (isRepeat: boolean) => {
      const { results } = await jobs.enqueueMany.mutate({ jobs: chain, atomic: true, isRepeat })
      return results.map((result) => ('id' in result ? result : { id: '', created: false }))
    }
    const first = await send(false)
    const ids = first.map(({ id }) => id)
    expect(first.every(({ created }) => created)).toBe(true)
    expect(ids.toSorted()).toEqual(ids)
    const again = await send(true)
    expect(again.map(({ id }) => id)).toEqual(ids)
    expect(again.some(({ created }) => created)).toBe(false)
  })

  it('with another token or topic is a different request', async () => {
    const api = await startTestApi(dialect)
    const requestId = newJobId()
    const enqueue = async (token: string, of = topic) =>
      api.client(token).jobs.enqueue.mutate({ topic: of, requestId, isRepeat: true })
    const tokens = [ADMIN_TOKEN, await api.tokenFor('producer'), await api.tokenFor('producer')]
    const made = [
      ...(await Promise.all(tokens.map((token) => enqueue(token)))),
      await enqueue(ADMIN_TOKEN, 'sms'),
    ]
    expect(new Set(made.map(({ id }) => id)).size).toBe(4)
    expect(made.every(({ created, id }) => created && id !== requestId)).toBe(true)
    // Time and order are kept; the rest reveals nothing.
    for (const { id } of made) expect(id.slice(0, 24)).toBe(requestId.slice(0, 24))
  })

  it.each([
    [
      'a clock that is a day behind',
      { requestId: () => newJobIdAt(Date.now() - LIMITS.idempotencyMs - 1_000) },
    ],
    [
      'a clock that is a day ahead',
      { requestId: () => newJobIdAt(Date.now() + LIMITS.idempotencyMs + 60_000) },
    ],
    ['a unique key', { requestId: newJobId, unique: { key: 'k' } }],
  ])('is recognised by a key where its id is not enough: %s', async (_, { requestId, ...options }) => {
    const api = await startTestApi(dialect)
    const { jobs } = api.client()
    const request = { topic, requestId: requestId(), ...options }
    const { id } = await jobs.enqueue.mutate(request)
    expect(id.slice(0, 24)).not.toBe(request.requestId.slice(0, 24))
    await api.complete(await api.claim())
    expect(await jobs.enqueue.mutate({ ...request, isRepeat: true })).toMatchObject({ id, created: false })
    const foreign = api.client(await api.tokenFor('producer'))
    expect(await foreign.jobs.enqueue.mutate({ ...request, isRepeat: true })).toMatchObject({ created: true })
  })

  it.each([
    ['behind', -LIMITS.idempotencyMs + 10_000],
    ['ahead', LIMITS.idempotencyMs + 10_000],
  ])(
    'makes one job if the clock of its client passes the limit of a day %s between two attempts',
    async (_, skewMs) => {
      const passedMs = [0, 20_000]
      let attempt = 0
      const runtime = { ...systemRuntime, now: () => systemRuntime.now() + (passedMs[attempt] ?? 0) }
      const api = await startTestApi(dialect, { runtime })
      const { jobs } = api.client()
      const requestId = newJobIdAt(Date.now() + skewMs)
      const request = { topic, payload: { n: 1 }, requestId }
      const { id } = await jobs.enqueue.mutate(request)
      attempt = 1
      expect(await jobs.enqueue.mutate({ ...request, isRepeat: true })).toMatchObject({ id, created: false })
      await api.complete(await api.claim())
      for (attempt of [0, 1])
        expect(await jobs.enqueue.mutate({ ...request, isRepeat: true })).toMatchObject({
          id,
          created: false,
        })
      expect(await jobs.stats.query()).toMatchObject({ pending: 0, completed: 1 })
    },
  )

  it("is ignored beside the caller's own key", async () => {
    const { jobs } = (await startTestApi(dialect)).client()
    const keyed = { topic, idempotencyKey: 'order-1' }
    const { id } = await jobs.enqueue.mutate({ ...keyed, requestId: newJobId() })
    expect(await jobs.enqueue.mutate({ ...keyed, requestId: newJobId() })).toMatchObject({
      id,
      created: false,
    })
  })

  it('is recognised by another process', async () => {
    const database = await createDatabase(dialect)
    const env = { ONCUE_ADMIN_TOKEN: ADMIN_TOKEN }
    // Started at once, so that only one of the two creates the key.
    const processes = await Promise.all([startProcess(database.url, env), startProcess(database.url, env)])
    const clients = processes.map(({ url }) => createClient(url))
    const requests = Array.from({ length: 40 }, () => ({ topic, requestId: newJobId() }))
    const results = await Promise.all(
      requests.flatMap((request, n) =>
        clients.map((client, k) => client.jobs.enqueue.mutate({ ...request, isRepeat: (n + k) % 3 === 0 })),
      ),
    )
    expect(new Set(results.map(({ id }) => id)).size).toBe(requests.length)
    expect(results.filter(({ created }) => created)).toHaveLength(requests.length)
    await Promise.all(processes.map(({ process }) => process.stop()))
    const store = await openStore(database.url)
    expect(await store.stats()).toMatchObject({ pending: requests.length })
    await store.close()
    await database.drop()
  })

  it('is derived with a key that no response contains', async () => {
    const api = await startTestApi(dialect)
    const key = await api.store.settings.secret('request_ids', () => 'another')
    expect(Buffer.from(key, 'base64')).toHaveLength(32)
    expect(JSON.stringify(await api.client().settings.get.query())).not.toContain(key)
    expect(JSON.stringify(await api.control.settings.all())).not.toContain(key)
  })
})

function newJobIdAt(ms: number): string {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}${newJobId().slice(13)}`
}
