import { type Runtime, systemRuntime } from '@oncue/runtime'
import { describe, expect, it } from 'vitest'
import { ATTEMPT_MS } from '../src/delivery/sender.ts'
import { aNotification, MINUTE, Office } from './deliveries.ts'
import { ADMIN_TOKEN, DIALECTS, errorOf, startTestApi } from './harness.ts'
import { MailServer } from './mail-server.ts'
import { Receiver } from './receiver.ts'

const GROUP = '01900000-0000-7000-8000-0000000000a1'
const KEY = 'r0ut1ngk3y'
const SUMMARY = 'mail: oldest job waits 12 min (limit 5 min)'

const group = (action: 'trigger' | 'retrigger' | 'acknowledge' | 'resolve' | null) => ({
  groups: [{ id: GROUP, action, summary: SUMMARY, path: '/alerts/1' }],
})

async function open(dialect: (typeof DIALECTS)[number]) {
  const receiver = await Receiver.listen()
  receiver.answer = () => ({ status: 202, body: '{"status":"success"}' })
  const base = receiver.url.replace('/hook', '')
  const office = await Office.open(dialect, { incidents: { pagerDuty: base, opsgenie: base } })
  const bodies = () => receiver.received.map(({ body }) => JSON.parse(body))
  return { receiver, office, bodies }
}

describe.each(DIALECTS)('services that alerts are sent to, on %s', (dialect) => {
  it('PagerDuty opens an incident for a group, acknowledges it, closes it', async () => {
    const { receiver, office, bodies } = await open(dialect)
    const channel = { kind: 'pagerduty', name: 'pager', address: 'pagerduty', secret: KEY } as const
    const { id } = await office.control.channels.create(channel)
    await office.delivery.notify(aNotification({ ...group('trigger') }))
    await receiver.until(1)
    expect(receiver.received[0]?.path).toBe('/v2/enqueue')
    expect(bodies()).toEqual([
      {
        ...{ routing_key: KEY, event_action: 'trigger', dedup_key: `oncue:${GROUP}` },
        payload: {
          ...{ summary: `[production] ${SUMMARY}`, source: 'oncue production', severity: 'critical' },
          timestamp: '2026-01-01T00:00:00.000Z',
        },
        ...{ client: 'Oncue', client_url: 'https://oncue.example/alerts/1' },
      },
    ])
    const rest = { routing_key: KEY, dedup_key: `oncue:${GROUP}` }
    await office.delivery.notify(aNotification({ id: 'a2', kind: 'acked', ...group('acknowledge') }))
    await receiver.until(2)
    await office.delivery.notify(aNotification({ id: 'a3', kind: 'resolved', ...group('resolve') }))
    await receiver.until(3)
    expect(bodies().slice(1)).toEqual([
      { ...rest, event_action: 'acknowledge' },
      { ...rest, event_action: 'resolve' },
    ])
    // An acknowledged group that fires again is a new incident; the end of one of several alerts changes nothing.
    await office.delivery.notify(aNotification({ id: 'a4', ...group('retrigger') }))
    await receiver.until(5)
    await office.delivery.notify(aNotification({ id: 'a5', kind: 'resolved', ...group(null) }))
    expect(
      bodies()
        .slice(3)
        .map(({ event_action }) => event_action),
    ).toEqual(['resolve', 'trigger'])
    await office.until(async () =>
      expect((await office.store.list({ topic: 'oncue:notify', status: 'completed' })).total).toBe(5),
    )
    expect(receiver.received).toHaveLength(5)
    expect(await office.channel(id)).toMatchObject({ lastDelivered: office.clock.now(), lastError: null })
  })

  it('Opsgenie opens an alert under an alias, acknowledges it, closes it', async () => {
    const { receiver, office, bodies } = await open(dialect)
    await office.control.channels.create({ kind: 'opsgenie', name: 'ops', address: 'opsgenie', secret: KEY })
    await office.delivery.notify(aNotification({ ...group('trigger') }))
    await receiver.until(1)
    await office.delivery.notify(aNotification({ id: 'a2', kind: 'acked', ...group('acknowledge') }))
    await receiver.until(2)
    await office.delivery.notify(aNotification({ id: 'a3', kind: 'resolved', ...group('resolve') }))
    await receiver.until(3)
    const alias = encodeURIComponent(`oncue:${GROUP}`)
    expect(receiver.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/v2/alerts', `GenieKey ${KEY}`],
      [`/v2/alerts/${alias}/acknowledge?identifierType=alias`, `GenieKey ${KEY}`],
      [`/v2/alerts/${alias}/close?identifierType=alias`, `GenieKey ${KEY}`],
    ])
    expect(bodies()[0]).toEqual({
      ...{ message: `[production] ${SUMMARY}`, alias: `oncue:${GROUP}`, source: 'Oncue', priority: 'P1' },
      description: `${SUMMARY}\nhttps://oncue.example/alerts/1`,
    })
  })

  it.each([
    ['pagerduty', 1_024, ({ payload }: { payload: { summary: string } }) => payload.summary],
    ['opsgenie', 130, ({ message }: { message: string }) => message],
  ] as const)('a summary that is too long for %s is cut between characters', async (kind, max, read) => {
    const { receiver, office, bodies } = await open(dialect)
    await office.control.channels.create({ kind, name: 'p', address: kind, secret: KEY })
    const family = '👨‍👩‍👧‍👦'
    const [about] = group('trigger').groups
    if (!about) throw new Error('there is no group')
    await office.delivery.notify(aNotification({ groups: [{ ...about, summary: `a${family.repeat(200)}` }] }))
    await receiver.until(1)
    const before = '[production] a'
    const whole = Math.floor((max - 1 - before.length) / family.length)
    expect(read(bodies()[0])).toBe(`${before}${family.repeat(whole)}…`)
  })

  it('an acknowledgement is for services that keep incidents, and for whole groups', async () => {
    const { receiver, office, bodies } = await open(dialect)
    const hook = await Receiver.listen()
    await office.webhook(hook.url)
    await office.control.channels.create({ kind: 'pagerduty', name: 'p', address: 'pagerduty', secret: KEY })
    const alert = await office.fire()
    await office.control.alerts.ack(alert.id, 'ada')
    await office.delivery.acknowledge([await office.control.alerts.get(alert.id)])
    await receiver.until(1)
    expect(bodies()).toEqual([{ routing_key: KEY, event_action: 'acknowledge', dedup_key: `oncue:${GROUP}` }])
    expect(hook.received).toEqual([])
  })

  it('a wrong key is shown, without being quoted', async () => {
    const { receiver, office } = await open(dialect)
    receiver.answer = () => ({ status: 400, body: `invalid key ${KEY}` })
    const channel = { kind: 'pagerduty', name: 'pager', address: 'pagerduty', secret: KEY } as const
    const { id } = await office.control.channels.create(channel)
    const row = await office.channel(id)
    if (!row) throw new Error('there is no channel')
    expect(await office.delivery.test(row)).toEqual({ delivered: false, error: 'The receiver returned 400' })
  })

  it('ntfy gets a message with a priority and a link', async () => {
    const { receiver, office, bodies } = await open(dialect)
    const address = receiver.url.replace('/hook', '/oncue-alerts')
    const options = { priority: 5 }
    await office.control.channels.create({ kind: 'ntfy', name: 'n', address, secret: 'tk_x', options })
    await office.delivery.notify(aNotification())
    await receiver.until(1)
    await office.delivery.notify(aNotification({ id: 'a2', kind: 'resolved' }))
    await receiver.until(2)
    expect(receiver.received[0]).toMatchObject({ path: '/', headers: { authorization: 'Bearer tk_x' } })
    const about = { topic: 'oncue-alerts', message: SUMMARY, click: `https://oncue.example/alerts/${GROUP}` }
    expect(bodies()).toEqual([
      { ...about, title: 'Firing · production', priority: 5, tags: ['rotating_light'] },
      { ...about, title: 'Resolved · production', priority: 3, tags: ['white_check_mark'] },
    ])
  })

  it('an e-mail goes over the mail server of the installation', async () => {
    const server = await MailServer.listen('oncue:hunter2')
    const mail = { url: `smtp://oncue:hunter2@${server.host}`, from: 'oncue@example.com' }
    const office = await Office.open(dialect, { mail })
    const channel = { kind: 'email', name: 'mail', address: 'ada@example.com' } as const
    const { id } = await office.control.channels.create(channel)
    server.answers.set('RCPT', '451 try again')
    await office.delivery.notify(aNotification())
    await office.until(async () =>
      expect(await office.channel(id)).toMatchObject({ lastError: 'The mail server returned 451' }),
    )
    server.answers.clear()
    office.advance(MINUTE)
    await office.untilStatus('completed')
    const [sent] = server.mails
    expect(sent).toMatchObject({ from: 'MAIL FROM:<oncue@example.com>', to: ['RCPT TO:<ada@example.com>'] })
    expect(sent?.text).toContain(`Subject: [production] Firing: ${SUMMARY}`)
    expect(sent?.text).toContain(`References: <${GROUP}@oncue>`)
    expect(sent?.text).toContain(`https://oncue.example/alerts/${GROUP}`)
    expect(await office.channel(id)).toMatchObject({ lastError: null, lastDelivered: office.clock.now() })
  })

  it.each([
    ['a wrong password', 'smtp://oncue:wrong@HOST', 'The mail server refused the user or the password'],
    ['no mail server', 'smtp://127.0.0.1:1', 'The mail server cannot be reached: ESOCKET'],
  ])('an e-mail with %s is not sent', async (_, url, error) => {
    const server = await MailServer.listen('oncue:hunter2')
    const mail = { url: url.replace('HOST', server.host), from: 'oncue@example.com' }
    const office = await Office.open(dialect, { mail })
    const { id } = await office.control.channels.create({
      kind: 'email',
      name: 'm',
      address: 'a@example.com',
    })
    const row = await office.channel(id)
    if (!row) throw new Error('there is no channel')
    expect(await office.delivery.test(row)).toEqual({ delivered: false, error })
  })

  describe('a mail server that keeps talking', () => {
    async function talkedTo() {
      const server = await MailServer.listen('oncue:hunter2')
      server.keepsTalking = true
      let endAttempt = () => {}
      const runtime: Runtime = {
        ...systemRuntime,
        after(ms, work) {
          if (ms === ATTEMPT_MS) endAttempt = work
          return systemRuntime.after(ms, work)
        },
      }
      const mail = { url: `smtp://oncue:hunter2@${server.host}`, from: 'oncue@example.com' }
      const office = await Office.open(dialect, { mail, runtime })
      const channel = { kind: 'email', name: 'mail', address: 'ada@example.com' } as const
      const { id } = await office.control.channels.create(channel)
      await office.delivery.notify(aNotification())
      await office.until(() => expect(server.greeted).toBe(1))
      return { server, office, id, endAttempt }
    }

    it('is tried again later', async () => {
      const { server, office, id, endAttempt } = await talkedTo()
      endAttempt()
      await office.untilStatus('pending')
      expect(await office.job()).toMatchObject({ retries: 1 })
      expect(await office.channel(id)).toMatchObject({ lastError: 'not sent within 30 s' })
      await office.until(() => expect(server.connections).toBe(0))
    })

    it('does not keep the process from stopping', async () => {
      const { server, office } = await talkedTo()
      await office.delivery.stop()
      expect(await office.job()).toMatchObject({ status: 'pending', retries: 0, crashes: 0 })
      await office.until(() => expect(server.connections).toBe(0))
    })
  })

  it('are created over the API, tested, and never show their secrets', async () => {
    const receiver = await Receiver.listen()
    const server = await MailServer.listen('oncue:hunter2')
    const base = receiver.url.replace('/hook', '')
    const api = await startTestApi(dialect, {
      env: {
        ...{
          ONCUE_WEBHOOK_PRIVATE_ADDRESSES: 'true',
          ONCUE_PAGERDUTY_URL: base,
          ONCUE_OPSGENIE_URL: `${base}/`,
        },
        ...{ ONCUE_SMTP_URL: `smtp://oncue:hunter2@${server.host}`, ONCUE_MAIL_FROM: 'oncue@example.com' },
      },
    })
    const { channels } = api.client(ADMIN_TOKEN)
    const requests = [
      { kind: 'pagerduty', name: 'p', key: 'sesame-1234' },
      { kind: 'opsgenie', name: 'o', key: 'sesame-1234' },
      { kind: 'ntfy', name: 'n', url: `${base}/swordfish`, priority: 5, token: 'sesame-1234' },
      { kind: 'email', name: 'e', to: 'ada@example.com' },
    ] as const
    for (const request of requests) {
      const { id, secret } = await channels.create.mutate(request)
      expect(secret).toBeNull()
      expect(await channels.test.mutate({ id })).toEqual({ delivered: true, error: null })
    }
    const listed = await channels.list.query()
    expect(listed.map(({ kind, address }) => [kind, address])).toEqual([
      ['pagerduty', 'PagerDuty'],
      ['opsgenie', 'Opsgenie'],
      ['ntfy', `${base}/…`],
      ['email', 'ada@example.com'],
    ])
    expect(listed.every(({ lastDelivered }) => lastDelivered !== null)).toBe(true)
    const { items } = await api.client().audit.list.query({ action: 'channels.*' })
    expect(JSON.stringify([listed, items])).not.toMatch(/sesame|swordfish|hunter2/)
    expect(server.mails).toHaveLength(1)
    // A test leaves no incident open.
    expect(receiver.received.map(({ path }) => path.replace(/oncue.*?\//, 'KEY/'))).toEqual([
      ...['/v2/enqueue', '/v2/enqueue', '/v2/alerts', '/v2/alerts/KEY/close?identifierType=alias', '/'],
    ])
  })

  it('need a mail server for e-mail, and a topic for ntfy', async () => {
    const api = await startTestApi(dialect)
    const { channels } = api.client()
    const mail = channels.create.mutate({ kind: 'email', name: 'e', to: 'ada@example.com' })
    expect(await errorOf(mail)).toMatchObject({
      ...{ code: 'INVALID_INPUT', hint: expect.stringContaining('ONCUE_SMTP_URL') },
    })
    for (const url of ['https://1.1.1.1/', 'https://1.1.1.1', 'https://1.1.1.1/100%a'])
      expect(await errorOf(channels.create.mutate({ kind: 'ntfy', name: 'n', url }))).toMatchObject({
        code: 'INVALID_INPUT',
      })
    const inside = channels.create.mutate({ kind: 'ntfy', name: 'n', url: 'https://127.0.0.1/topic' })
    expect(await errorOf(inside)).toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' })
  })
})
