import { newJobId } from '@oncue/core'
import { describe, expect, it, vi } from 'vitest'
import { DIALECTS, errorOf, startTestApi, type TestApi } from './harness.ts'

describe.each(DIALECTS)('an open wait, on %s', (dialect) => {
  const isOpen = (api: TestApi) => vi.waitFor(() => expect(api.services.live.states.size).toBe(1))

  it('ends when the token is revoked: the result is not for it any more', async () => {
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

  it('counts as a stream of its token, of which a thousand may be open', async () => {
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
    // It has given its place back.
    expect(await wait()).toMatchObject({ finished: true })
    for (const each of leave) each()
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

  it('goes on when the job that had just finished is requeued before its result was read', async () => {
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

  it('and says how far the job is when there is no time to go on', async () => {
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
