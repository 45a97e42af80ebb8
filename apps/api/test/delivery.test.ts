import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { aNotification, MINUTE, Office, SECOND } from './deliveries.ts'
import { DIALECTS } from './harness.ts'
import { Receiver } from './receiver.ts'

describe.each(DIALECTS)('delivery on %s', (dialect) => {
  describe('to a webhook', () => {
    it('is signed, and contains the alert and nothing else', async () => {
      const receiver = await Receiver.listen()
      const office = await Office.open(dialect)
      const { id } = await office.webhook(receiver.url)
      await office.delivery.notify(aNotification())
      await office.untilStatus('completed')
      const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
      const job = await office.job()
      const alert = {
        ...{ id: '01900000-0000-7000-8000-0000000000a1', kind: 'oldest_waiting', queue: 'mail' },
        ...{ state: 'firing', summary: 'mail: oldest job waits 12 min (limit 5 min)' },
        ...{ value: 720, threshold: 300, firedAt: '2026-01-01T00:00:00.000Z' },
        ...{ topic: null, fingerprint: null },
      }
      expect(JSON.parse(body)).toEqual({
        type: 'alert.firing',
        id: job.id,
        at: '2026-01-01T00:00:00.000Z',
        alert,
        alerts: [alert],
        environment: 'production',
        url: 'https://oncue.example/alerts/01900000-0000-7000-8000-0000000000a1',
      })
      const seconds = Math.floor(office.clock.now().getTime() / 1_000)
      const hmac = createHmac('sha256', 'whsec_test').update(`${seconds}.${body}`).digest('hex')
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'oncue-delivery': job.id,
        'oncue-signature': `t=${seconds},v1=${hmac}`,
      })
      expect(await office.channel(id)).toMatchObject({
        ...{ lastAttempt: office.clock.now(), lastDelivered: office.clock.now(), failingSince: null },
      })
    })

    it('is repeated after a 500 until it arrives, under the same id', async () => {
      const receiver = await Receiver.listen()
      const office = await Office.open(dialect)
      const { id } = await office.webhook(receiver.url)
      receiver.answer = (_, nth) => ({ status: nth < 2 ? 500 : 200 })
      const began = office.clock.now()
      await office.delivery.notify(aNotification())
      for (const retries of [1, 2]) {
        await office.until(async () =>
          expect(await office.job()).toMatchObject({ status: 'pending', retries }),
        )
        expect(await office.channel(id)).toMatchObject({
          ...{ lastDelivered: null, lastError: 'The receiver returned 500', failingSince: began },
        })
        office.advance(20 * SECOND)
      }
      await office.untilStatus('completed')
      expect(receiver.received).toHaveLength(3)
      expect(new Set(receiver.received.map(({ headers }) => headers['oncue-delivery'])).size).toBe(1)
      expect(await office.channel(id)).toMatchObject({ lastError: null, failingSince: null, enabled: true })
    })

    it('is tried for about an hour', async () => {
      const office = await Office.open(dialect)
      await office.webhook('http://127.0.0.1:1/')
      await office.delivery.notify(aNotification())
      const began = office.clock.now().getTime()
      for (let retries = 1; retries <= 12; retries++) {
        await office.until(async () =>
          expect(await office.job()).toMatchObject({ status: 'pending', retries }),
        )
        const { runAt } = await office.job()
        office.advance(runAt.getTime() - office.clock.now().getTime())
      }
      await office.untilStatus('failed')
      expect((office.clock.now().getTime() - began) / MINUTE).toBeGreaterThan(50)
      expect((office.clock.now().getTime() - began) / MINUTE).toBeLessThan(75)
      expect((await office.job()).lastError).toMatchObject({
        class: 'NotDelivered',
        message: 'connection refused (ECONNREFUSED)',
      })
    })

    it('waits as long as the receiver asks', async () => {
      const receiver = await Receiver.listen()
      const office = await Office.open(dialect)
      await office.webhook(receiver.url)
      receiver.answer = () => ({ status: 429, headers: { 'retry-after': '300' } })
      await office.delivery.notify(aNotification())
      await office.until(async () => expect((await office.job()).retries).toBe(1))
      expect((await office.job()).runAt.getTime() - office.clock.now().getTime()).toBe(5 * MINUTE)
    })

    it.each([
      ['404', 404, {}, 'The receiver returned 404'],
      [
        'a redirect',
        302,
        { location: '/elsewhere' },
        'The receiver returned 302; redirects are not followed',
      ],
    ])('gives up on %s after three more attempts', async (_, status, headers, error) => {
      const receiver = await Receiver.listen()
      const office = await Office.open(dialect)
      const { id } = await office.webhook(receiver.url)
      receiver.answer = () => ({ status, headers })
      await office.delivery.notify(aNotification())
      for (const retries of [1, 2, 3]) {
        await office.until(async () => expect((await office.job()).retries).toBe(retries))
        office.advance(MINUTE)
      }
      await office.untilStatus('failed')
      expect(receiver.received.map(({ path }) => path)).toEqual(Array(4).fill('/hook'))
      expect(await office.channel(id)).toMatchObject({ enabled: true, lastError: error })
    })

    it('ends with 410: the channel is switched off', async () => {
      const receiver = await Receiver.listen()
      const office = await Office.open(dialect)
      const { id } = await office.webhook(receiver.url)
      receiver.answer = () => ({ status: 410 })
      await office.delivery.notify(aNotification())
      await office.untilStatus('cancelled')
      expect(await office.channel(id)).toMatchObject({
        enabled: false,
        lastError: 'The receiver returned 410',
      })
      await office.delivery.notify(aNotification({ id: 'alert:x:2' }))
      expect(receiver.received).toHaveLength(1)
      expect((await office.store.list({ topic: 'oncue:notify' })).total).toBe(1)
    })
  })

  describe('to an address that is not public', () => {
    const isRefused = async (office: Office, id: string) => {
      await office.delivery.notify(aNotification())
      await office.until(async () =>
        expect(await office.channel(id)).toMatchObject({
          lastError: 'The URL resolves to 127.0.0.1, which is not a public address (loopback)',
        }),
      )
    }

    it('is not sent, whether the URL contains the address or a name', async () => {
      const receiver = await Receiver.listen()
      const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
      const office = await Office.open(dialect, { allowPrivateAddresses: false, resolve })
      for (const host of ['127.0.0.1', 'pager.example']) {
        const { id } = await office.webhook(`https://${host}:${receiver.port}/`)
        await isRefused(office, id)
        await office.control.channels.remove(id)
      }
      expect(receiver.received).toEqual([])
    })

    it('is not sent when a name resolves differently since it was checked', async () => {
      const receiver = await Receiver.listen()
      const answers = ['93.184.216.34', '127.0.0.1']
      const resolve = async () => [{ address: answers.shift() ?? '127.0.0.1', family: 4 }]
      const office = await Office.open(dialect, { allowPrivateAddresses: false, resolve })
      const url = new URL(`https://pager.example:${receiver.port}/`)
      await office.delivery.guard.assertAllowed(url)
      const { id } = await office.webhook(url.href)
      await isRefused(office, id)
      expect(receiver.received).toEqual([])
    })
  })

  it('sends the format of Slack to Slack', async () => {
    const receiver = await Receiver.listen()
    const office = await Office.open(dialect)
    const { id } = await office.webhook(receiver.url, 'slack')
    receiver.answer = (_, nth) => ({ status: nth === 0 ? 404 : 200, body: 'no_service' })
    await office.delivery.notify(aNotification({ summary: 'a <b> & c' }))
    await office.until(async () =>
      expect(await office.channel(id)).toMatchObject({ lastError: 'The receiver returned 404 (no_service)' }),
    )
    office.advance(MINUTE)
    await office.untilStatus('completed')
    const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
    const link = '<https://oncue.example/alerts/01900000-0000-7000-8000-0000000000a1|Open>'
    expect(JSON.parse(body)).toEqual({ text: `[production] *Firing:* a &lt;b&gt; &amp; c ${link}` })
    expect(headers).not.toHaveProperty('oncue-signature')
  })

  it('of a test says once that it is one', async () => {
    const receiver = await Receiver.listen()
    const office = await Office.open(dialect)
    const { id } = await office.webhook(receiver.url, 'slack')
    const channel = await office.channel(id)
    if (!channel) throw new Error('there is no channel')
    expect(await office.delivery.test(channel)).toEqual({ delivered: true, error: null })
    const { text } = JSON.parse(receiver.received[0]?.body ?? '')
    expect(text).toMatch(/^\[production\] \*Test:\* Notifications arrive here/)
  })

  it('happens once per channel and change, however often it is requested', async () => {
    const receiver = await Receiver.listen()
    const office = await Office.open(dialect)
    for (const kind of ['webhook', 'slack', 'webhook'] as const) await office.webhook(receiver.url, kind)
    const resolved = aNotification({ id: 'alert:x:2', kind: 'resolved' })
    for (const told of [aNotification(), resolved, aNotification(), resolved])
      await office.delivery.notify(told)
    await office.until(async () => expect((await office.store.stats()).completed).toBe(6))
    expect(receiver.received).toHaveLength(6)
  })

  it('is shared by two processes, and happens once', async () => {
    const receiver = await Receiver.listen()
    const one = await Office.open(dialect)
    const two = await Office.open(dialect, { clock: one.clock, url: one.store.url })
    await one.webhook(receiver.url)
    const ids = Array.from({ length: 60 }, (_, n) => `alert:x:${n}`)
    await Promise.all(
      ids.flatMap((id) => [one, two].map((office) => office.delivery.notify(aNotification({ id })))),
    )
    await one.until(async () => expect((await one.store.stats()).completed).toBe(60))
    expect(receiver.received).toHaveLength(60)
    expect(new Set(receiver.received.map(({ headers }) => headers['oncue-delivery'])).size).toBe(60)
  })

  it('is skipped for a channel that was removed or disabled meanwhile', async () => {
    const office = await Office.open(dialect)
    const { id } = await office.webhook('http://127.0.0.1:1/')
    await office.delivery.notify(aNotification())
    await office.until(async () => expect((await office.job()).retries).toBe(1))
    await office.control.channels.remove(id)
    office.advance(MINUTE)
    await office.untilStatus('cancelled')
  })

  it('does not send a firing alert after it was resolved', async () => {
    const receiver = await Receiver.listen()
    const office = await Office.open(dialect)
    await office.webhook(receiver.url)
    receiver.answer = (_, nth) => ({ status: nth === 0 ? 500 : 200 })
    const alert = await office.fire()
    await office.delivery.notify(aNotification({ alert }))
    await office.until(async () => expect((await office.job()).retries).toBe(1))
    await office.resolve(alert.id)
    office.advance(MINUTE)
    await office.untilStatus('cancelled')
    expect(receiver.received).toHaveLength(1)
  })

  it('is released when the process stops, and done by the next one', async () => {
    const receiver = await Receiver.listen()
    const office = await Office.open(dialect)
    await office.webhook(receiver.url)
    receiver.answer = (_, nth) => (nth === 0 ? null : { status: 200 })
    await office.delivery.notify(aNotification())
    await receiver.until(1)
    await office.delivery.stop()
    expect(await office.job()).toMatchObject({ status: 'pending', retries: 0, crashes: 0 })
    const next = await Office.open(dialect, { clock: office.clock, url: office.store.url })
    await next.untilStatus('completed')
    const [first, second] = receiver.received
    expect(second?.body).toBe(first?.body)
  })
})
