import { createHash } from 'node:crypto'
import { eventually } from '@oncue/testing'
import { describe, expect, it, vi } from 'vitest'
import { createClient, DIALECTS, errorOf, startTestApi, type TestApi } from './harness.ts'

describe.each(DIALECTS)('devices on %s', (dialect) => {
  /** A phone that scanned a code made by `token`. */
  async function paired(api: TestApi, { token, name = 'phone' }: { token?: string; name?: string } = {}) {
    const { code } = await api.client(token).pairings.create.mutate()
    const { device, secret } = await api.client(null).pairings.exchange.mutate({ code, name })
    return { device, secret, client: createClient(api.url, secret) }
  }

  it('are created by exchanging a code once, with the access of their maker', async () => {
    const api = await startTestApi(dialect)
    const maker = api.client(await api.tokenFor('operator', { allowedTopics: ['mail_*'] }))
    const pairing = await maker.pairings.create.mutate({})
    expect(pairing).toMatchObject({ role: 'operator', url: `${api.url}/pair?code=${pairing.code}` })
    const exchange = (name: string) => api.client(null).pairings.exchange.mutate({ code: pairing.code, name })
    const { device, secret } = await exchange('my phone')
    expect(device).toMatchObject({ name: 'my phone', role: 'operator', createdBy: 'operator', push: null })
    expect(await errorOf(exchange('another'))).toMatchObject({ code: 'PAIRING_REFUSED' })
    const phone = createClient(api.url, secret)
    expect(await phone.tokens.me.query()).toMatchObject({
      ...{ kind: 'device', id: device.id, name: 'my phone', role: 'operator', allowedTopics: ['mail_*'] },
      may: ['enqueue', 'read', 'act'],
    })
    expect(await phone.devices.list.query()).toMatchObject([{ id: device.id, isThis: true }])
    expect(await maker.devices.list.query()).toMatchObject([{ id: device.id, isThis: false }])
  })

  it('are paired through the public URL', async () => {
    const api = await startTestApi(dialect, { env: { ONCUE_PUBLIC_URL: 'https://oncue.example/jobs/' } })
    const { url, code } = await api.client().pairings.create.mutate()
    expect(url).toBe(`https://oncue.example/jobs/pair?code=${code}`)
  })

  it('never have more access than their maker', async () => {
    const api = await startTestApi(dialect)
    const operator = api.client(await api.tokenFor('operator'))
    expect(await errorOf(operator.pairings.create.mutate({ role: 'admin' }))).toMatchObject({
      code: 'FORBIDDEN',
      message: 'Your devices can have at most the role operator, not admin',
    })
    expect(await operator.pairings.create.mutate({ role: 'viewer' })).toMatchObject({ role: 'viewer' })
    const viewer = api.client(await api.tokenFor('viewer'))
    expect(await errorOf(viewer.pairings.create.mutate({}))).toMatchObject({ code: 'FORBIDDEN' })
  })

  it('cannot be paired by callers whom only a rule admits', async () => {
    const api = await startTestApi(dialect, { env: { ONCUE_MANAGE_RULE: 'true' } })
    await api.client(null).queues.pause.mutate({ queue: 'mail' })
    expect(await errorOf(api.client(null).pairings.create.mutate({}))).toMatchObject({ code: 'FORBIDDEN' })
    const { device } = await paired(api, { token: await api.tokenFor('operator') })
    const revoke = api.client(null).devices.revoke.mutate({ id: device.id })
    expect(await errorOf(revoke)).toMatchObject({ code: 'FORBIDDEN' })
  })

  it('cannot be paired with a code whose maker was revoked meanwhile', async () => {
    const api = await startTestApi(dialect)
    const { id, secret } = await api.client().tokens.create.mutate({ name: 'ada', role: 'operator' })
    const { code } = await api.client(secret).pairings.create.mutate({})
    await api.client().tokens.revoke.mutate({ id })
    const exchange = api.client(null).pairings.exchange.mutate({ code, name: 'phone' })
    expect(await errorOf(exchange)).toMatchObject({ code: 'PAIRING_REFUSED' })
  })

  it('end with the token that made them, and with it the devices that they paired', async () => {
    const api = await startTestApi(dialect)
    const { id, secret } = await api.client().tokens.create.mutate({ name: 'ada', role: 'operator' })
    const phone = await paired(api, { token: secret })
    const tablet = await paired(api, { token: phone.secret, name: 'tablet' })
    const other = await paired(api)
    expect(await api.client().devices.list.query()).toMatchObject([
      { id: other.device.id, maker: { kind: 'token', name: 'admin' } },
      { id: tablet.device.id, maker: { id: phone.device.id, kind: 'device', name: 'phone' } },
      { id: phone.device.id, maker: { id, kind: 'token', name: 'ada' } },
    ])
    // A device acts under its own name, not that of its maker.
    expect(await tablet.client.tokens.me.query()).toMatchObject({ id: tablet.device.id, kind: 'device' })
    expect(await api.client().tokens.revoke.mutate({ id })).toEqual({ devices: 2 })
    for (const client of [api.client(secret), phone.client, tablet.client])
      expect(await errorOf(client.health.get.query())).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(await api.client().devices.list.query()).toMatchObject([{ id: other.device.id }])
    const { items } = await api.client().audit.list.query({ action: 'tokens.revoke' })
    expect(items).toMatchObject([{ target: { id, name: 'ada', devices: 2 } }])
  })

  it('end when they were idle for as long as the setting says, counted from their last use', async () => {
    const api = await startTestApi(dialect, { env: { ONCUE_DEVICE_IDLE_DAYS: '7' } })
    const { device, client } = await paired(api)
    const days = (from: Date, until: Date | null | undefined) =>
      ((until?.getTime() ?? 0) - from.getTime()) / 86_400_000
    expect(days(device.created, device.idleUntil)).toBe(7)
    await api.client().settings.set.mutate({ deviceIdleDays: 30 })
    await client.health.get.query()
    const used = await api.control.tokens.get(device.id)
    expect(days(used?.lastUsed ?? new Date(0), used?.idleUntil)).toBe(30)
  })

  it('cannot be guessed: each attempt counts as a request of its address', async () => {
    const api = await startTestApi(dialect, { env: { ONCUE_RATE_LIMIT_ADDRESS: '10' } })
    const exchange = (typed: string) =>
      errorOf(api.client(null).pairings.exchange.mutate({ code: typed, name: 'phone' }))
    for (let n = 0; n < 10; n++)
      expect(await exchange(`ABC-DEF-GH${n}`)).toMatchObject({ code: 'PAIRING_REFUSED' })
    expect(await exchange('ABC-DEF-GHJ')).toMatchObject({
      code: 'RATE_LIMITED',
      details: { retryAfterSeconds: expect.any(Number) },
    })
    expect(await api.control.tokens.list({ kind: 'device' })).toEqual([])
  })

  it('are paired with a correct code, however many wrong ones came from the same address', async () => {
    const api = await startTestApi(dialect)
    const { code } = await api.client().pairings.create.mutate({})
    const exchange = (typed: string) =>
      api.client(null).pairings.exchange.mutate({ code: typed, name: 'phone' })
    await Promise.all(
      Array.from({ length: 300 }, async () =>
        expect(await errorOf(exchange('ABC-DEF-GHJ'))).toMatchObject({ code: 'PAIRING_REFUSED' }),
      ),
    )
    expect((await exchange(code)).device).toMatchObject({ name: 'phone' })
  })

  it('lose access at once when they are revoked', async () => {
    const api = await startTestApi(dialect)
    const { device, client } = await paired(api)
    const ended = vi.fn()
    const subscription = client.health.watch.subscribe(undefined, { onError: ended })
    await eventually(() => expect(api.services.live.health.size).toBe(1))
    await api.client(await api.tokenFor('admin')).devices.revoke.mutate({ id: device.id })
    await eventually(() => expect(api.services.live.health.size).toBe(0), 5_000)
    await eventually(() => expect(ended).toHaveBeenCalled(), 5_000)
    subscription.unsubscribe()
    expect(await errorOf(client.jobs.list.query({}))).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(await api.client().devices.list.query()).toEqual([])
  })

  it('are renamed and revoked only by callers with at least the same role', async () => {
    const api = await startTestApi(dialect)
    const operator = api.client(await api.tokenFor('operator'))
    const { device: ofAdmin } = await paired(api)
    for (const change of [
      () => operator.devices.rename.mutate({ id: ofAdmin.id, name: 'mine' }),
      () => operator.devices.revoke.mutate({ id: ofAdmin.id }),
    ])
      expect(await errorOf(change())).toMatchObject({ code: 'FORBIDDEN' })
    const { device } = await paired(api, { token: await api.tokenFor('operator') })
    await operator.devices.rename.mutate({ id: device.id, name: 'old phone' })
    expect(await operator.devices.list.query()).toContainEqual(
      expect.objectContaining({ id: device.id, name: 'old phone' }),
    )
  })

  it('revoke themselves, whatever their role, and only themselves', async () => {
    const api = await startTestApi(dialect)
    const pair = async (name: string) => {
      const { code } = await api.client().pairings.create.mutate({ role: 'viewer' })
      return api.client(null).pairings.exchange.mutate({ code, name })
    }
    const [mine, other] = [await pair('mine'), await pair('other')]
    const phone = createClient(api.url, mine.secret)
    expect(await errorOf(phone.devices.revoke.mutate({ id: other.device.id }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    await phone.devices.revoke.mutate({ id: mine.device.id })
    expect(await errorOf(phone.jobs.list.query({}))).toMatchObject({ code: 'UNAUTHORIZED' })
    expect(await api.client().devices.list.query()).toMatchObject([{ id: other.device.id }])
    const { items } = await api.client().audit.list.query({ action: 'devices.*' })
    expect(items).toMatchObject([{ actor: { id: mine.device.id, name: 'mine' }, action: 'devices.revoke' }])
  })

  it('can be revoked, however many were paired after them', async () => {
    const api = await startTestApi(dialect)
    const { device } = await paired(api)
    const others = Array.from({ length: 1_000 }, (_, n) => createHash('sha256').update(`${n}`).digest('hex'))
    await Promise.all(
      others.map((hash) => api.control.tokens.create({ kind: 'device', name: 'x', role: 'viewer', hash })),
    )
    await api.client().devices.revoke.mutate({ id: device.id })
    expect(await api.store.tokens.usable([device.id])).toEqual(new Set())
  })

  it('are the only tokens that these procedures rename or revoke', async () => {
    const api = await startTestApi(dialect)
    const { id } = await api.client().tokens.create.mutate({ name: 'shop', role: 'producer' })
    for (const change of [
      () => api.client().devices.rename.mutate({ id, name: 'phone' }),
      () => api.client().devices.revoke.mutate({ id }),
    ])
      expect(await errorOf(change())).toMatchObject({ code: 'TOKEN_NOT_FOUND' })
  })

  it('are named in the audit for their actions', async () => {
    const api = await startTestApi(dialect)
    const { device, client } = await paired(api, { name: 'the phone' })
    await client.queues.pause.mutate({ queue: 'mail' })
    const { items } = await client.audit.list.query({ actorKind: 'device' })
    expect(items).toMatchObject([
      {
        action: 'queues.pause',
        actor: { id: device.id, name: 'the phone', kind: 'device' },
        target: { queue: 'mail' },
      },
    ])
    const made = await client.audit.list.query({ action: 'pairings.*' })
    expect(made.items).toMatchObject([
      { action: 'pairings.exchange', target: { id: device.id, name: 'the phone', createdBy: 'admin' } },
      { action: 'pairings.create', actor: { name: 'admin' } },
    ])
  })

  it('are not confused with a token of the same name', async () => {
    const api = await startTestApi(dialect)
    const { client, secret } = await paired(api, { name: 'admin' })
    await client.queues.pause.mutate({ queue: 'mail' })
    const response = await api.fetch('/api/session', { token: null, json: { token: secret } })
    const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? ''
    const paused = await fetch(`${api.url}/trpc/queues.pause`, {
      method: 'POST',
      headers: { cookie, origin: api.url, 'content-type': 'application/json' },
      body: '{"json":{"queue":"media"}}',
    })
    expect(paused.status).toBe(200)
    const queues = await api.client().queues.list.query()
    expect(queues.map((queue) => queue.paused?.by)).toEqual(['admin (device)', 'admin (device)'])
    const { items } = await api.client().audit.list.query({ action: 'queues.*' })
    expect(items.map(({ actor: { kind, name } }) => [kind, name])).toEqual([
      ['session', 'admin (device)'],
      ['device', 'admin'],
    ])
  })

  it('can be browsers, whose token no script can read', async () => {
    const api = await startTestApi(dialect)
    const { code } = await api.client().pairings.create.mutate({ role: 'viewer' })
    const json = { code, name: 'laptop' }
    const strange = await api.fetch('/api/session/pair', {
      ...{ token: null, json, headers: { origin: 'https://evil.example' } },
    })
    expect(strange.status).toBe(403)
    const response = await api.fetch('/api/session/pair', {
      ...{ token: null, json, headers: { origin: api.url } },
    })
    expect(response.status).toBe(201)
    expect(await response.json()).toEqual({
      ...{ name: 'laptop', role: 'viewer', expires_at: expect.any(String) },
    })
    const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? ''
    const jobs = await api.fetch('/api/jobs', { token: null, headers: { cookie } })
    expect(jobs.status).toBe(200)
    const [device] = await api.client().devices.list.query()
    await api.client().devices.revoke.mutate({ id: device?.id ?? '' })
    expect((await api.fetch('/api/jobs', { token: null, headers: { cookie } })).status).toBe(401)
  })
})
