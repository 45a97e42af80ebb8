import { createHash, randomUUID } from 'node:crypto'
import { openControl } from '@oncue/db/control'
import { describe, expect, it, vi } from 'vitest'
import { aNotification, MINUTE, Office } from './deliveries.ts'
import { FakeExpo } from './fake-expo.ts'
import { DIALECTS } from './harness.ts'

const TOKEN = 'ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]'

describe.each(DIALECTS)('push on %s', (dialect) => {
  async function open() {
    const expo = await FakeExpo.listen()
    const office = await Office.open(dialect, { pushUrl: expo.url, pushAccessToken: 'secret' })
    return { expo, office }
  }

  async function pair({ store }: Office, pushToken: string): Promise<string> {
    const hash = createHash('sha256').update(randomUUID()).digest('hex')
    const { tokens } = await openControl(store)
    const { id } = await tokens.create({ kind: 'device', name: 'phone', role: 'operator', hash })
    await store.channels.setPush(id, pushToken)
    return id
  }

  const channelOf = async ({ control }: Office, device: string) =>
    (await control.channels.list()).find(({ tokenId }) => tokenId === device)

  /** Holds deliveries at their last read (is the alert resolved?) and continues all in one turn of the event loop. */
  function sendTogether({ store, control, clock }: Office, count: number): void {
    const { alerts } = control
    const get = alerts.get.bind(alerts)
    // The clock does not move; reading it from Postgres would take a round trip.
    vi.spyOn(store, 'now').mockImplementation(async () => clock.now())
    let asked = 0
    let release = () => {}
    const all = new Promise<void>((resolve) => {
      release = resolve
    })
    vi.spyOn(alerts, 'get').mockImplementation(async (id) => {
      try {
        return await get(id)
      } finally {
        asked += 1
        if (asked === count) release()
        await all
      }
    })
  }

  /** Moves the clock until the receipt is read. */
  async function laterOn(office: Office) {
    office.advance(15 * MINUTE)
    await office.until(async () => {
      const { items } = await office.store.list({ topic: 'oncue:receipt' })
      expect(items).toMatchObject([{ finishedAt: expect.any(Date) }])
    })
  }

  it('sends a phone what is wrong and where to look, and nothing of any payload', async () => {
    const { expo, office } = await open()
    await pair(office, TOKEN)
    await office.delivery.notify(aNotification())
    await office.untilStatus('completed')
    const path = '/alerts/01900000-0000-7000-8000-0000000000a1'
    expect(expo.messages).toEqual([
      {
        to: TOKEN,
        title: 'Alert · production',
        body: 'mail: oldest job waits 12 min (limit 5 min)',
        data: { path, url: `https://oncue.example${path}` },
        ...{ sound: 'default', priority: 'high', channelId: 'alerts', categoryId: 'alert' },
        collapseId: '01900000-0000-7000-8000-0000000000a1',
        tag: '01900000-0000-7000-8000-0000000000a1',
      },
    ])
    expect(expo.requests).toMatchObject([{ authorization: 'Bearer secret' }])
    // Callers who may read jobs see no push token.
    const jobs = (await office.store.list()).items.map(({ id }) => office.store.get(id))
    expect(JSON.stringify(await Promise.all(jobs))).not.toContain(TOKEN)
  })

  it('replaces the alert with a message without buttons when it is resolved', async () => {
    const { expo, office } = await open()
    await pair(office, TOKEN)
    await office.delivery.notify(aNotification({ kind: 'resolved' }))
    await office.untilStatus('completed')
    expect(expo.messages).toMatchObject([
      { title: 'Resolved · production', tag: '01900000-0000-7000-8000-0000000000a1' },
    ])
    expect(expo.messages[0]).not.toHaveProperty('categoryId')
  })

  it('reaches many phones with one request', async () => {
    const { expo, office } = await open()
    for (let n = 0; n < 20; n++) await pair(office, `ExponentPushToken[${n}]`)
    sendTogether(office, 20)
    await office.delivery.notify(aNotification())
    await office.until(() => expect(expo.messages).toHaveLength(20))
    expect(expo.sends).toHaveLength(1)
    expect(new Set(expo.messages.map(({ to }) => to)).size).toBe(20)
  })

  it('reaches the other phones when one is refused', async () => {
    const { expo, office } = await open()
    const bad = await pair(office, 'ExponentPushToken[of another project]')
    for (let n = 0; n < 5; n++) await pair(office, `ExponentPushToken[${n}]`)
    expo.refuse = (messages) =>
      messages.some(({ to }) => to.includes('another'))
        ? { status: 400, code: 'PUSH_TOO_MANY_EXPERIENCE_IDS' }
        : null
    await office.delivery.notify(aNotification())
    await office.until(() => expect(expo.messages).toHaveLength(5))
    await office.until(async () =>
      expect(await channelOf(office, bad)).toMatchObject({
        lastError: 'Expo returned 400 (PUSH_TOO_MANY_EXPERIENCE_IDS)',
      }),
    )
  })

  it('does not split the batch when the access token is wrong', async () => {
    const { expo, office } = await open()
    for (let n = 0; n < 20; n++) await pair(office, `ExponentPushToken[${n}]`)
    expo.refuse = () => ({ status: 401, code: 'UNAUTHORIZED' })
    sendTogether(office, 20)
    await office.delivery.notify(aNotification())
    await office.until(async () => {
      const channels = await office.control.channels.list()
      expect(new Set(channels.map(({ lastError }) => lastError))).toEqual(
        new Set(['Expo returned 401 (UNAUTHORIZED)']),
      )
    })
    expect(expo.sends).toHaveLength(1)
  })

  it('reads the receipt a quarter of an hour later', async () => {
    const { expo, office } = await open()
    const device = await pair(office, TOKEN)
    await office.delivery.notify(aNotification())
    await office.untilStatus('completed')
    await laterOn(office)
    expect(expo.requests.at(-1)).toMatchObject({
      ...{ path: '/--/api/v2/push/getReceipts', body: { ids: ['ticket-1'] } },
    })
    expect(await channelOf(office, device)).toMatchObject({ failingSince: null, lastError: null })
  })

  it('requests a receipt again that is not available yet', async () => {
    const { expo, office } = await open()
    expo.isSlow = true
    await pair(office, TOKEN)
    await office.delivery.notify(aNotification())
    await office.untilStatus('completed')
    const receipt = async () => (await office.store.list({ topic: 'oncue:receipt' })).items[0]
    office.advance(15 * MINUTE)
    await office.until(async () => expect(await receipt()).toMatchObject({ status: 'pending', retries: 1 }))
    expo.isSlow = false
    await laterOn(office)
    expect(await receipt()).toMatchObject({ status: 'completed' })
  })

  it('requests a receipt again when Expo does not respond, without blaming the phone', async () => {
    const { expo, office } = await open()
    const device = await pair(office, TOKEN)
    expo.badReceipts.set(TOKEN, 'DeviceNotRegistered')
    await office.delivery.notify(aNotification())
    await office.untilStatus('completed')
    expo.refuseReceipts = { status: 503, code: 'INTERNAL' }
    const receipt = async () => (await office.store.list({ topic: 'oncue:receipt' })).items[0]
    office.advance(15 * MINUTE)
    await office.until(async () => expect(await receipt()).toMatchObject({ status: 'pending', retries: 1 }))
    expect(await channelOf(office, device)).toMatchObject({ failingSince: null, lastError: null })
    expo.refuseReceipts = null
    await laterOn(office)
    expect(await channelOf(office, device)).toBeUndefined()
  })

  it('shows the result of the receipt on the channel', async () => {
    const { expo, office } = await open()
    const device = await pair(office, TOKEN)
    expo.badReceipts.set(TOKEN, 'InvalidCredentials')
    await office.delivery.notify(aNotification())
    await office.untilStatus('completed')
    await laterOn(office)
    expect(await channelOf(office, device)).toMatchObject({
      ...{ lastError: 'Expo returned InvalidCredentials', failingSince: office.clock.now() },
    })
  })

  it('removes a phone without the app, according to its ticket', async () => {
    const { expo, office } = await open()
    const device = await pair(office, TOKEN)
    expo.badTickets.set(TOKEN, 'DeviceNotRegistered')
    await office.delivery.notify(aNotification())
    await office.untilStatus('cancelled')
    expect(await channelOf(office, device)).toBeUndefined()
    expect(await office.store.tokens.usable([device])).toEqual(new Set([device]))
  })

  it('removes a phone without the app, according to its receipt', async () => {
    const { expo, office } = await open()
    const device = await pair(office, TOKEN)
    expo.badReceipts.set(TOKEN, 'DeviceNotRegistered')
    await office.delivery.notify(aNotification())
    await office.untilStatus('completed')
    await laterOn(office)
    expect(await channelOf(office, device)).toBeUndefined()
  })

  it('keeps a phone that has a new push token since', async () => {
    const { expo, office } = await open()
    const device = await pair(office, TOKEN)
    expo.badReceipts.set(TOKEN, 'DeviceNotRegistered')
    await office.delivery.notify(aNotification())
    await office.untilStatus('completed')
    await office.store.channels.setPush(device, 'ExponentPushToken[new]')
    await laterOn(office)
    expect(await channelOf(office, device)).toMatchObject({
      ...{ address: 'ExponentPushToken[new]', failingSince: null },
    })
  })

  it.each([
    ['too many requests', { status: 429, code: 'TOO_MANY_REQUESTS', headers: { 'retry-after': '120' } }],
    ['a service that is down', { status: 503, code: 'INTERNAL' }],
  ])('tries again after %s', async (_, refusal) => {
    const { expo, office } = await open()
    const device = await pair(office, TOKEN)
    expo.refuse = () => (expo.sends.length === 1 ? refusal : null)
    await office.delivery.notify(aNotification())
    await office.until(async () => expect((await office.job()).retries).toBe(1))
    expect(await channelOf(office, device)).toMatchObject({
      lastError: `Expo returned ${refusal.status} (${refusal.code})`,
    })
    office.advance(2 * MINUTE)
    await office.untilStatus('completed')
    expect(expo.messages).toHaveLength(1)
  })

  it('sends nothing to a revoked device', async () => {
    const { expo, office } = await open()
    const device = await pair(office, TOKEN)
    await office.store.tokens.revoke(device)
    await office.delivery.notify(aNotification())
    expect((await office.store.stats()).pending).toBe(0)
    expect(expo.requests).toEqual([])
  })
})
