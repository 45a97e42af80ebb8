import { describe, expect, it } from 'vitest'
import { aNotification, Office } from './deliveries.ts'
import { ADMIN_TOKEN, DIALECTS, errorOf, startTestApi, type TestApi } from './harness.ts'
import { Browser, verifyVapid } from './push-service.ts'
import { Receiver } from './receiver.ts'

const OPEN = { ONCUE_WEBHOOK_PRIVATE_ADDRESSES: 'true', ONCUE_ENVIRONMENT: 'staging' }

/** A device with a subscription, on a database without an API. */
async function subscribe(
  office: Office,
  browser: Browser,
  role: 'admin' | 'operator' = 'admin',
): Promise<string> {
  const { id } = await office.control.tokens.create({
    ...{
      kind: 'device',
      name: 'laptop',
      role,
      hash: crypto.randomUUID().replaceAll('-', '').repeat(2),
    },
  })
  await office.store.channels.setWebPush(id, browser.subscription)
  return id
}

async function open(dialect: (typeof DIALECTS)[number]) {
  const service = await Receiver.listen()
  service.answer = () => ({ status: 201 })
  const office = await Office.open(dialect)
  const browser = new Browser(`${service.url}/subscription`)
  const device = await subscribe(office, browser)
  const channel = async () => (await office.control.channels.list()).find(({ tokenId }) => tokenId === device)
  return { service, office, browser, device, channel }
}

/** Signs in with a token, or pairs, as a browser does; returns a caller with its cookie. */
async function signIn(api: TestApi, path: string, json: object) {
  const signedIn = await api.fetch(path, { token: null, json })
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  return async (procedure: string, input: unknown) => {
    const method = input === undefined ? {} : { json: { json: input } }
    const response = await api.fetch(`/trpc/${procedure}`, {
      ...{ token: null, headers: { cookie, origin: api.url }, ...method },
    })
    return (await response.json()) as { result?: { data: { json: unknown } }; error?: unknown }
  }
}

describe.each(DIALECTS)('web push on %s', (dialect) => {
  it('is signed for the push service, and can be read only by the browser', async () => {
    const { service, office, browser, channel } = await open(dialect)
    await office.delivery.notify(aNotification())
    await service.until(1)
    const [request] = service.received
    if (!request) throw new Error('there is no request')
    const audience = new URL(service.url).origin
    const claims = await verifyVapid(request, await office.delivery.webPush.publicKey(), audience)
    expect(claims).toMatchObject({ aud: audience, sub: 'https://oncue.example', exp: expect.any(Number) })
    expect(request.headers).toMatchObject({
      ...{ 'content-encoding': 'aes128gcm', 'content-type': 'application/octet-stream', urgency: 'high' },
      ...{ ttl: '14400', topic: '019000000000700080000000000000a1' },
    })
    expect(request.bytes.toString('latin1')).not.toContain('oldest job')
    expect(JSON.parse(browser.decrypt(request.bytes))).toEqual({
      ...{ type: 'alert.firing', title: 'Firing · production', path: expect.stringMatching(/^\/alerts\//) },
      body: 'mail: oldest job waits 12 min (limit 5 min)',
      tag: '01900000-0000-7000-8000-0000000000a1',
      alertIds: ['01900000-0000-7000-8000-0000000000a1'],
    })
    await office.untilStatus('completed')
    expect(await channel()).toMatchObject({ kind: 'web_push', lastDelivered: office.clock.now() })
  })

  it.each([404, 410])('removes a browser that its push service does not know: %i', async (status) => {
    const { service, office, channel } = await open(dialect)
    service.answer = () => ({ status })
    await office.delivery.notify(aNotification())
    await office.untilStatus('cancelled')
    expect(await channel()).toBeUndefined()
  })

  it('keeps a browser whose service is busy, and tries again', async () => {
    const { service, office, channel } = await open(dialect)
    service.answer = (_, nth) => ({ status: nth === 0 ? 429 : 201, headers: { 'retry-after': '30' } })
    await office.delivery.notify(aNotification())
    await office.until(async () =>
      expect(await channel()).toMatchObject({ lastError: 'The receiver returned 429' }),
    )
    office.advance(120_000)
    await office.untilStatus('completed')
    expect(service.received).toHaveLength(2)
  })

  it('has one key for all processes, which the settings do not show', async () => {
    const { office } = await open(dialect)
    const keys = await Promise.all([1, 2, 3].map(() => office.delivery.webPush.publicKey()))
    expect(new Set(keys).size).toBe(1)
    expect(Buffer.from(keys[0] ?? '', 'base64url')).toHaveLength(65)
    expect(await office.control.settings.all()).toEqual([])
  })

  it('ends with its device', async () => {
    const { service, office, device, channel } = await open(dialect)
    await office.store.tokens.revoke(device)
    expect(await channel()).toBeUndefined()
    await office.delivery.notify(aNotification())
    expect((await office.store.stats()).pending).toBe(0)
    expect(service.received).toEqual([])
  })

  it('is registered and tested by a signed-in browser, and ends with its session', async () => {
    const service = await Receiver.listen()
    service.answer = () => ({ status: 201 })
    const api = await startTestApi(dialect, { env: OPEN })
    const browser = new Browser(`${service.url}/subscription`)
    const call = await signIn(api, '/api/session', { token: ADMIN_TOKEN })
    expect(await call('devices.webPushKey', undefined)).toMatchObject({
      result: { data: { json: { key: expect.any(String), isRegistered: false } } },
    })
    const { subscription } = browser
    expect(await call('devices.registerWebPush', { subscription })).toMatchObject({
      result: { data: { json: null } },
    })
    expect(await call('devices.webPushKey', undefined)).toMatchObject({
      result: { data: { json: { isRegistered: true } } },
    })
    const [channel] = await api.client().channels.list.query()
    expect(channel).toMatchObject({ kind: 'web_push', address: `${new URL(service.url).origin}/…` })
    expect(JSON.stringify(channel)).not.toContain(subscription.keys.auth)
    expect(await call('devices.testPush', {})).toMatchObject({
      result: { data: { json: { delivered: true } } },
    })
    const bytes = service.received[0]?.bytes ?? Buffer.alloc(0)
    expect(JSON.parse(browser.decrypt(bytes))).toMatchObject({ type: 'test', title: 'Test · staging' })
    const me = channel?.deviceId ?? ''
    await api.store.tokens.revoke(me)
    expect(await api.client().channels.list.query()).toEqual([])
  })

  it('calls private addresses for admins only', async () => {
    const service = await Receiver.listen()
    const api = await startTestApi(dialect, { env: OPEN })
    const { secret } = await api.client().tokens.create.mutate({ name: 'v', role: 'viewer' })
    const call = await signIn(api, '/api/session', { token: secret })
    const { subscription } = new Browser(`${service.url}/subscription`)
    expect(await call('devices.registerWebPush', { subscription })).toMatchObject({
      error: { json: { data: { oncue: { code: 'ADDRESS_NOT_ALLOWED' } } } },
    })
    expect(await call('devices.testPush', {})).toMatchObject({
      result: { data: { json: { delivered: false } } },
    })
    expect(service.received).toEqual([])
  })

  it('checks the address again when it sends', async () => {
    const service = await Receiver.listen()
    const office = await Office.open(dialect)
    const id = await subscribe(office, new Browser(service.url), 'operator')
    const [channel] = await office.control.channels.list()
    if (channel?.tokenId !== id) throw new Error('there is no channel')
    expect(await office.delivery.test(channel)).toEqual({
      ...{ delivered: false, error: expect.stringContaining('The URL') },
    })
    expect(service.received).toEqual([])
  })

  it('refuses keys that cannot encrypt', async () => {
    const api = await startTestApi(dialect)
    const call = await signIn(api, '/api/session', { token: ADMIN_TOKEN })
    const { keys } = new Browser('https://1.1.1.1/x').subscription
    for (const wrong of [{ p256dh: 'A'.repeat(87) }, { auth: 'A'.repeat(20) }]) {
      const subscription = { endpoint: 'https://1.1.1.1/x', keys: { ...keys, ...wrong } }
      expect(await call('devices.registerWebPush', { subscription })).toMatchObject({
        error: { json: { data: { oncue: { code: 'INVALID_INPUT' } } } },
      })
    }
    expect(await api.client().channels.list.query()).toEqual([])
  })

  it('refuses callers with a bearer token, and private addresses', async () => {
    const api = await startTestApi(dialect)
    const registered = (endpoint: string) =>
      api.client().devices.registerWebPush.mutate({ subscription: new Browser(endpoint).subscription })
    for (const endpoint of ['http://1.1.1.1/x', 'https://127.0.0.1/x', 'https://169.254.169.254/x'])
      expect(await errorOf(registered(endpoint)), endpoint).toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' })
    expect(await errorOf(registered('https://1.1.1.1/x'))).toMatchObject({ code: 'FORBIDDEN' })
    expect(await api.client().channels.list.query()).toEqual([])
  })
})
