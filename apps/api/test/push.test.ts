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

  /** A delivery asks last whether its alert is over: there all wait for each other, and go on in one turn of the event loop. */
  function sendTogether({ store, control, clock }: Office, count: number): void {
    const { alerts } = control
    const get = alerts.get.bind(alerts)
    // The clock stands still, and on Postgres it takes a round trip to be told so.
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

  /** The receipt is read. */
  async function laterOn(office: Office) {
    office.advance(15 * MINUTE)
    await office.until(async () => {
      const { items } = await office.store.list({ topic: 'oncue:receipt' })
      expect(items).toMatchObject([{ finishedAt: expect.any(Date) }])
    })
  }

  it('tells a phone what is wrong and where to look, and nothing of any payload', async () => {
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
    // Whoever may see jobs sees no push token.
    const jobs = (await office.store.list()).items.map(({ id }) => office.store.get(id))
    expect(JSON.stringify(await Promise.all(jobs))).not.toContain(TOKEN)
  })

  it('tells that it is over in the place of the alert, without buttons', async () => {
    const { expo, office } = await open()
    await pair(office, TOKEN)
    await office.delivery.notify(aNotification({ kind: 'resolved' }))
    await office.untilStatus('completed')
    expect(expo.messages).toMatchObject([
      { title: 'Resolved · production', tag: '01900000-0000-7000-8000-0000000000a1' },
    ])
    expect(expo.messages[0]).not.toHaveProperty('categoryId')
  })

  it('tells many phones in one request', async () => {
    const { expo, office } = await open()
    for (let n = 0; n < 20; n++) await pair(office, `ExponentPushToken[${n}]`)
    sendTogether(office, 20)
    await office.delivery.notify(aNotification())
    await office.until(() => expect(expo.messages).toHaveLength(20))
    expect(expo.sends).toHaveLength(1)
    expect(new Set(expo.messages.map(({ to }) => to)).size).toBe(20)
  })

  it('does not let one phone keep the others from being told', async () => {
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

  it('does not ask for each phone whether its access token is wrong', async () => {
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

  it('asks again for a receipt that is not there yet', async () => {
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

  it('asks again for a receipt when Expo does not answer, which says nothing about the phone', async () => {
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

  it('shows on the channel what its receipt says', async () => {
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

  it('forgets a phone that has no app any more, said by its ticket', async () => {
    const { expo, office } = await open()
    const device = await pair(office, TOKEN)
    expo.badTickets.set(TOKEN, 'DeviceNotRegistered')
    await office.delivery.notify(aNotification())
    await office.untilStatus('cancelled')
    expect(await channelOf(office, device)).toBeUndefined()
    expect(await office.store.tokens.usable([device])).toEqual(new Set([device]))
  })

  it('forgets a phone that has no app any more, said by its receipt', async () => {
    const { expo, office } = await open()
    const device = await pair(office, TOKEN)
    expo.badReceipts.set(TOKEN, 'DeviceNotRegistered')
    await office.delivery.notify(aNotification())
    await office.untilStatus('completed')
    await laterOn(office)
    expect(await channelOf(office, device)).toBeUndefined()
  })

  it('keeps a phone that got a new push token since', async () => {
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

  it('sends nothing to a device that was revoked', async () => {
    const { expo, office } = await open()
    const device = await pair(office, TOKEN)
    await office.store.tokens.revoke(device)
    await office.delivery.notify(aNotification())
    expect((await office.store.stats()).pending).toBe(0)
    expect(expo.requests).toEqual([])
  })
})
