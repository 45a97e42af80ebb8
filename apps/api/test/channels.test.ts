import { describe, expect, it } from 'vitest'
import { FakeExpo } from './fake-expo.ts'
import { ADMIN_TOKEN, DIALECTS, errorOf, startTestApi, type TestApi } from './harness.ts'
import { Receiver } from './receiver.ts'

const TOKEN = 'ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]'
const OPEN = { ONCUE_WEBHOOK_PRIVATE_ADDRESSES: 'true' }

async function pair(api: TestApi) {
  const { code } = await api.client().pairings.create.mutate({ role: 'viewer' })
  const { device, secret } = await api.client(null).pairings.exchange.mutate({ code, name: "Ada's phone" })
  return { id: device.id, client: api.client(secret) }
}

describe.each(DIALECTS)('channels on %s', (dialect) => {
  it('are created, listed, changed and removed', async () => {
    const api = await startTestApi(dialect, { env: OPEN })
    const { channels } = api.client()
    const url = 'https://10.0.0.5/hook/sesame?key=hunter2'
    const { secret, ...webhook } = await channels.create.mutate({ kind: 'webhook', name: 'pager', url })
    expect(secret).toMatch(/^whsec_[\w-]{43}$/)
    expect(webhook).toEqual({
      id: expect.any(String),
      ...{
        kind: 'webhook',
        name: 'pager',
        address: 'https://10.0.0.5/…',
        deviceId: null,
        enabled: true,
      },
      ...{ created: expect.any(Date), createdBy: 'admin' },
      ...{ lastAttempt: null, lastDelivered: null, lastError: null, failingSince: null },
    })
    const slack = await channels.create.mutate({
      kind: 'slack',
      name: 'team',
      url: 'https://10.0.0.5/services/swordfish',
    })
    expect(slack).toMatchObject({ secret: null, address: 'https://10.0.0.5/…' })
    const listed = await channels.list.query()
    expect(listed.map(({ id }) => id)).toEqual([webhook.id, slack.id])
    expect(JSON.stringify(listed)).not.toMatch(/sesame|hunter2|whsec|swordfish/)

    const changed = await channels.update.mutate({ id: webhook.id, name: 'the pager', enabled: false })
    expect(changed).toEqual({ ...webhook, name: 'the pager', enabled: false })
    await channels.delete.mutate({ id: webhook.id })
    expect(await errorOf(channels.delete.mutate({ id: webhook.id }))).toMatchObject({
      code: 'CHANNEL_NOT_FOUND',
    })
    const { items } = await api.client().audit.list.query({ action: 'channels.*' })
    expect(items.map(({ action }) => action).sort()).toEqual(
      ['channels.create', 'channels.create', 'channels.delete', 'channels.update'].sort(),
    )
    expect(JSON.stringify(items)).not.toMatch(/sesame|hunter2|whsec|swordfish/)
  })

  it('do not lead into private networks, unless that is allowed', async () => {
    const api = await startTestApi(dialect)
    for (const url of ['http://1.1.1.1/', 'https://127.0.0.1/', 'https://[::1]/', 'https://ada:x@1.1.1.1/']) {
      const made = api.client().channels.create.mutate({ kind: 'webhook', name: 'x', url })
      expect(await errorOf(made), url).toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' })
    }
    expect(await api.client().channels.list.query()).toEqual([])
  })

  it('can be tested by operators', async () => {
    const receiver = await Receiver.listen()
    const env = { ...OPEN, ONCUE_PUBLIC_URL: 'https://oncue.example/', ONCUE_ENVIRONMENT: 'staging' }
    const api = await startTestApi(dialect, { env })
    const { channels } = api.client(await api.tokenFor('operator'))
    const { id } = await api
      .client()
      .channels.create.mutate({ kind: 'webhook', name: 'pager', url: receiver.url })
    expect(await channels.test.mutate({ id })).toEqual({ delivered: true, error: null })
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
      ...{ type: 'test', alert: null, environment: 'staging', url: 'https://oncue.example/alerts' },
    })
    expect(await channels.list.query()).toMatchObject([
      { lastDelivered: expect.any(Date), failingSince: null },
    ])

    receiver.answer = () => ({ status: 503 })
    expect(await channels.test.mutate({ id })).toEqual({
      delivered: false,
      error: 'The receiver returned 503',
    })
    expect(await channels.list.query()).toMatchObject([
      { lastError: 'The receiver returned 503', failingSince: expect.any(Date) },
    ])
    receiver.answer = () => ({ status: 410 })
    expect(await channels.test.mutate({ id })).toEqual({
      delivered: false,
      error: 'The receiver returned 410, so the channel was disabled',
    })
    expect(await channels.list.query()).toMatchObject([{ enabled: false }])
    // A test is sent directly, without a job that could be retried.
    expect(await api.store.list({ queue: 'oncue' })).toMatchObject({ total: 0 })
  })

  it('reach a device that registered its push token', async () => {
    const expo = await FakeExpo.listen()
    const api = await startTestApi(dialect, { env: { ONCUE_PUSH_URL: expo.url, ONCUE_PUSH_TOKEN: 'secret' } })
    const { id, client } = await pair(api)
    expect(await client.devices.testPush.mutate()).toMatchObject({ delivered: false })
    await client.devices.registerPush.mutate({ pushToken: TOKEN })
    expect(await client.channels.list.query()).toMatchObject([
      { kind: 'push', name: "Ada's phone", address: 'ExponentPushToken[xxxx…', deviceId: id },
    ])
    expect(await client.devices.testPush.mutate()).toEqual({ delivered: true, error: null })
    expect(expo.messages).toMatchObject([{ to: TOKEN, title: 'Test', data: { path: '/alerts' } }])
    expect(expo.requests).toMatchObject([{ authorization: 'Bearer secret' }])
    const [channel] = await client.channels.list.query()
    expect(
      await errorOf(api.client().channels.update.mutate({ id: channel?.id ?? '', name: 'x' })),
    ).toMatchObject({
      ...{ code: 'INVALID_INPUT', hint: expect.stringContaining('devices.rename') },
    })
    expect(await api.client().devices.list.query()).toMatchObject([
      { id, push: { lastDelivered: expect.any(Date), failingSince: null, lastError: null } },
    ])
    await client.devices.registerPush.mutate({ pushToken: null })
    expect(await client.channels.list.query()).toEqual([])
  })

  it('accept push tokens of Expo only, and from devices only', async () => {
    const api = await startTestApi(dialect)
    const { client } = await pair(api)
    for (const pushToken of ['abc', 'fcm:abc', 'ExponentPushToken'])
      expect(await errorOf(client.devices.registerPush.mutate({ pushToken }))).toMatchObject({
        code: 'INVALID_INPUT',
      })
    const { devices } = api.client()
    expect(await errorOf(devices.registerPush.mutate({ pushToken: TOKEN }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await devices.testPush.mutate()).toMatchObject({ delivered: false })

    // A browser that signed in with a token is no device either.
    const signedIn = await api.fetch('/api/session', { token: null, json: { token: ADMIN_TOKEN } })
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    const refused = await api.fetch('/trpc/devices.registerPush', {
      ...{ token: null, json: { json: { pushToken: TOKEN } }, headers: { cookie, origin: api.url } },
    })
    expect(await refused.json()).toMatchObject({
      error: { json: { data: { oncue: { code: 'FORBIDDEN' } } } },
    })
  })

  it('are sent by Oncue alone', async () => {
    const api = await startTestApi(dialect)
    const forged = { topic: 'oncue:notify', queue: 'oncue' }
    expect(await errorOf(api.client().jobs.enqueue.mutate(forged))).toMatchObject({
      code: 'TOPIC_NOT_ALLOWED',
    })
    const among = { topic: 'mail', queue: 'oncue' }
    const schedule = { name: 'hidden', cron: '* * * * *', topic: 'mail', options: { queue: 'oncue' } }
    for (const call of [
      () => api.client().jobs.enqueue.mutate(among),
      () => api.client().schedules.save.mutate(schedule),
    ])
      expect(await errorOf(call())).toMatchObject({ code: 'INVALID_QUEUE' })
    const { results } = await api.client().jobs.enqueueMany.mutate({ jobs: [among, { topic: 'mail' }] })
    expect(results).toMatchObject([{ error: { code: 'INVALID_QUEUE' } }, { created: true }])
  })
})
