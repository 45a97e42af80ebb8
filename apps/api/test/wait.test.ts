import { newJobId } from '@oncue/core'
import { simulate } from '@oncue/runtime'
import { eventually } from '@oncue/testing'
import { describe, expect, it, vi } from 'vitest'
import { DIALECTS, errorOf, startTestApi, type TestApi } from './harness.ts'

describe.each(DIALECTS)('a producer, on %s', (dialect) => {
  const NOT_FOUND = { code: 'JOB_NOT_FOUND' }

  it('waits for, watches and reads a job that it enqueued, with secrets masked', async () => {
    const api = await startTestApi(dialect)
    const shop = api.client(await api.tokenFor('producer', { allowedTopics: ['mail_*'] }))
    const payload = { userId: '123', password: 'hunter2' }
    const { id } = await shop.jobs.enqueue.mutate({ topic: 'mail_digest', payload })
    expect(await shop.jobs.wait.query({ id, timeoutMs: 0 })).toMatchObject({
      finished: false,
      status: 'pending',
    })
    const states: string[] = []
    const watched = new Promise<void>((resolve, reject) => {
      shop.jobs.watch.subscribe(
        { id },
        {
          onData: ({ data }) => data.type === 'state' && states.push(data.state.status),
          onComplete: resolve,
          onError: reject,
        },
      )
    })
    await eventually(() => expect(states).toEqual(['pending']))
    const waited = shop.jobs.wait.query({ id, timeoutMs: 25_000 })
    await api.complete(await api.claim(), { sent: 3, token: 't' })
    expect(await waited).toMatchObject({
      ...{ finished: true, status: 'completed', result: { sent: 3, token: '[masked]' } },
      masked: ['result.token'],
    })
    await watched
    expect(states.at(-1)).toBe('completed')
    expect(await shop.jobs.get.query({ id })).toMatchObject({
      payload: { userId: '123', password: '[masked]' },
    })
    const rest = await api.fetch(`/api/jobs/${id}`, { token: await api.tokenFor('producer') })
    expect(rest.status).toBe(200)
  })

  it('cannot see a job that it could not enqueue, nor that it exists', async () => {
    const api = await startTestApi(dialect)
    const { secret } = await api.client().tokens.create.mutate({
      ...{ name: 'shop', role: 'producer', allowedTopics: ['mail_*'], allowedQueues: ['default'] },
    })
    const shop = api.client(secret)
    const others = [
      await api.enqueue({ topic: 'payout' }),
      await api.enqueue({ topic: 'mail_digest', queue: 'high' }),
      await api.enqueue({ topic: 'oncue:notify', queue: 'oncue' }),
      newJobId(),
    ]
    for (const id of others) {
      const calls = [
        () => shop.jobs.get.query({ id }),
        () => shop.jobs.wait.query({ id, timeoutMs: 0 }),
        () => new Promise((_, onError) => shop.jobs.watch.subscribe({ id }, { onError })),
      ]
      for (const call of calls)
        expect(await errorOf(call())).toMatchObject({ ...NOT_FOUND, message: `There is no job ${id}` })
    }
  })

  it('cannot list jobs, nor act on a job whose id it knows', async () => {
    const api = await startTestApi(dialect)
    const shop = api.client(await api.tokenFor('producer'))
    const { id } = await shop.jobs.enqueue.mutate({ topic: 'mail' })
    for (const call of [
      () => shop.jobs.list.query({}),
      () => shop.jobs.events.query({ id }),
      () => shop.jobs.cancel.mutate({ ids: [id] }),
    ])
      expect(await errorOf(call())).toMatchObject({ code: 'FORBIDDEN' })
  })

  it('needs a token, even if every caller may enqueue', async () => {
    const api = await startTestApi(dialect, { env: { ONCUE_ENQUEUE_RULE: 'true' } })
    const { id } = await api.client(null).jobs.enqueue.mutate({ topic: 'mail' })
    expect(await errorOf(api.client(null).jobs.get.query({ id }))).toMatchObject({ code: 'UNAUTHORIZED' })
  })

  it('loses sight of its jobs when it may no longer enqueue', async () => {
    const api = await startTestApi(dialect)
    const shop = api.client(await api.tokenFor('producer'))
    const { id } = await shop.jobs.enqueue.mutate({ topic: 'mail' })
    const error = errorOf(shop.jobs.wait.query({ id, timeoutMs: 25_000 }))
    await eventually(() => expect(api.services.live.states.size).toBe(1))
    await api.client().settings.set.mutate({ enqueueRule: 'admin' })
    expect(await error).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(await errorOf(shop.jobs.get.query({ id }))).toMatchObject({ code: 'FORBIDDEN' })
  })

  it.each([{ allowedTopics: ['other'] }, { allowedQueues: ['other'] }])(
    'hears nothing any more when it may not enqueue such a job any more: %o',
    async (lists) => {
      const api = await startTestApi(dialect)
      const shop = api.client(await api.tokenFor('producer'))
      const { id } = await shop.jobs.enqueue.mutate({ topic: 'mail' })
      const watched = errorOf(
        new Promise<void>((onComplete, onError) => {
          shop.jobs.watch.subscribe({ id }, { onComplete, onError })
        }),
      )
      const waited = errorOf(shop.jobs.wait.query({ id, timeoutMs: 25_000 }))
      const seen = api.client().jobs.wait.query({ id, timeoutMs: 25_000 })
      await eventually(() => expect(api.services.live.states.size).toBe(3))
      await api.client().settings.set.mutate(lists)
      await api.complete(await api.claim(), { sent: 3 })
      expect(await Promise.all([watched, waited])).toMatchObject([NOT_FOUND, NOT_FOUND])
      // Callers who may read jobs are not affected by what may be enqueued.
      expect(await seen).toMatchObject({ finished: true })
    },
  )
})

describe.each(DIALECTS)('an open wait, on %s', (dialect) => {
  const isOpen = (api: TestApi) => eventually(() => expect(api.services.live.states.size).toBe(1))

  it('ends without the result when the token is revoked', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    const admin = api.client()
    const { id: tokenId, secret } = await admin.tokens.create.mutate({ name: 'phone', role: 'viewer' })
    const error = errorOf(api.client(secret).jobs.wait.query({ id }))
    await isOpen(api)
    await admin.tokens.revoke.mutate({ id: tokenId })
    await api.complete(await api.claim(), { sent: 3 })
    expect(await error).toMatchObject({ code: 'UNAUTHORIZED' })
  })

  it('ends when the token expires', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    const token = await api.tokenFor('viewer', { expiresAt: new Date(Date.now() + 1_000) })
    const error = errorOf(api.client(token).jobs.wait.query({ id, timeoutMs: 10_000 }))
    expect(await error).toMatchObject({ code: 'UNAUTHORIZED' })
  })

  it('counts as one of the thousand streams that its token may open', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    const { id: tokenId, secret } = await api
      .client()
      .tokens.create.mutate({ name: 'script', role: 'viewer' })
    const { live } = api.services
    const leave = Array.from({ length: 999 }, () => live.enter(`token ${tokenId}`))
    const wait = () => api.client(secret).jobs.wait.query({ id })
    const last = wait()
    await isOpen(api)
    expect(await errorOf(wait())).toMatchObject({ code: 'RATE_LIMITED' })
    await api.complete(await api.claim())
    expect(await last).toMatchObject({ finished: true })
    // The ended wait no longer counts.
    expect(await wait()).toMatchObject({ finished: true })
    for (const each of leave) each()
  })

  it.each(['', '?batch=1'])('ends when its caller leaves %s', async (batch) => {
    // Time stands still: no wait ends by itself.
    const api = await startTestApi(dialect, { runtime: simulate() })
    const { live } = api.services
    const ids = await Promise.all([api.enqueue(), api.enqueue()])
    const inputs = ids.map((id) => ({ json: { id, timeoutMs: 30_000 } }))
    const path = batch ? `jobs.wait,jobs.wait${batch}&input=` : 'jobs.wait?input='
    const input = JSON.stringify(batch ? { ...inputs } : inputs[0])
    const leaving = new AbortController()
    const { signal } = leaving
    const url = `/trpc/${path}${encodeURIComponent(input)}`
    const answered = expect(api.fetch(url, { signal })).rejects.toThrow('aborted')
    await eventually(() => expect(live.states.size).toBe(batch ? 2 : 1))
    leaving.abort()
    await answered
    await eventually(() => expect(live.states.size).toBe(0))
  })

  it('leaves nothing behind, however it ends', async () => {
    const api = await startTestApi(dialect)
    const { auth, live } = api.services
    const released = vi.fn()
    const whileValid = auth.whileValid
    vi.spyOn(auth, 'whileValid').mockImplementation((...given) => {
      const { signal, release } = whileValid(...given)
      return { signal, release: () => released(release()) }
    })
    const id = await api.enqueue()
    const client = api.client()
    await client.jobs.wait.query({ id, timeoutMs: 1 })
    await api.complete(await api.claim())
    await client.jobs.wait.query({ id })
    const nowhere = client.jobs.wait.query({ id: newJobId() })
    expect(await errorOf(nowhere)).toMatchObject({ code: 'JOB_NOT_FOUND' })
    expect(released).toHaveBeenCalledTimes(3)
    expect(live.states.size).toBe(0)
  })

  it('continues when the job is requeued after finishing and before its result was read', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    await api.complete(await api.claim(), { sent: 1 })
    const { get } = api.store
    vi.spyOn(api.store, 'get').mockImplementationOnce(async (asked) => {
      await api.store.requeue([id])
      return get.call(api.store, asked)
    })
    const answer = api.client().jobs.wait.query({ id })
    await isOpen(api)
    await api.complete(await api.claim(), { sent: 2 })
    expect(await answer).toMatchObject({ finished: true, status: 'completed', result: { sent: 2 } })
  })

  it('returns the current state when there is no time left to continue', async () => {
    const api = await startTestApi(dialect)
    const id = await api.enqueue()
    await api.complete(await api.claim(), { sent: 1 })
    const { get } = api.store
    vi.spyOn(api.store, 'get').mockImplementationOnce(async (asked) => {
      await api.store.requeue([id])
      return get.call(api.store, asked)
    })
    const answer = await api.client().jobs.wait.query({ id, timeoutMs: 0 })
    expect(answer).toEqual({ finished: false, status: 'pending', progress: null })
  })
})
