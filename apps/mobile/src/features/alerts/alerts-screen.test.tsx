import { OncueError } from '@oncue/sdk'
import { fireEvent, waitFor } from 'expo-router/testing-library'
import { alertOf, channelOf, minutesAgo, ruleOf } from '../../testing/alerts.ts'
import { healthOf, NOW } from '../../testing/health.ts'
import { offline, renderApp } from '../../testing/render-app.tsx'

const page = (...items: ReturnType<typeof alertOf>[]) => ({ items, nextCursor: null })

describe('Alerts', () => {
  it('lists firing alerts before acknowledged ones', async () => {
    const acked = alertOf(1, {
      state: 'acked',
      summary: 'reports late',
      acked: { at: minutesAgo(3), by: 'ada' },
    })
    const { screen } = await renderApp('/alerts', {
      answers: { 'alerts.list': () => page(acked, alertOf(2)) },
    })
    const rows = await screen.findAllByRole('link', { name: /^(Firing|Acknowledged):/ })
    expect(rows.map(({ props }) => props.accessibilityLabel)).toEqual([
      expect.stringMatching(/^Firing: mail: oldest job waits 12 min/),
      expect.stringMatching(/^Acknowledged: reports late/),
    ])
    expect(screen.getByText(/by ada at/)).toBeVisible()
  })

  it('groups alerts by cause, and acknowledges all of them or a selection', async () => {
    const groupId = '0199a000-0000-7000-8000-0000000000ff'
    const alerts = [
      alertOf(1, { groupId, summary: 'No worker serves 5 queues' }),
      alertOf(2, { groupId, summary: 'media is late' }),
      alertOf(3, { summary: 'mail fails' }),
    ]
    const asked: unknown[] = []
    const { screen } = await renderApp('/alerts', {
      answers: {
        'alerts.list': () => page(...alerts),
        'alerts.ack': (input) => {
          asked.push(input)
          return { ...alertOf(1), alerts: alerts.slice(0, input.ids?.length ?? 1) }
        },
      },
    })
    expect(await screen.findByText('2 alerts, probably one cause')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Acknowledge all 3'))
    expect(await screen.findByText('3 alerts acknowledged: no more notifications')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Select'))
    fireEvent.press(await screen.findByLabelText(/^Firing: media is late/))
    fireEvent.press(await screen.findByLabelText('Acknowledge 1 selected'))
    expect(await screen.findByText('1 alert acknowledged: no more notifications')).toBeVisible()
    expect(asked).toEqual([{ ids: alerts.map(({ id }) => id) }, { ids: [alerts[1]?.id] }])
  })

  it('acknowledges one with a button, as a swipe does', async () => {
    const asked: unknown[] = []
    const { screen } = await renderApp('/alerts', {
      answers: {
        'alerts.list': () => page(alertOf(1)),
        'alerts.ack': (input) => {
          asked.push(input)
          return { ...alertOf(1), alerts: [alertOf(1)] }
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Ack'))
    expect(await screen.findByText('Acknowledged: no more notifications')).toBeVisible()
    expect(asked).toEqual([{ id: alertOf(1).id }])
  })

  it('is calm when nothing fires', async () => {
    const { screen } = await renderApp('/alerts', { answers: { 'alerts.list': () => page() } })
    expect(await screen.findByText('No alerts')).toBeVisible()
  })

  it('says that no alert is sent, and lets sending be resumed', async () => {
    const health = healthOf({
      summary: { level: 'bad', text: 'No alerts are sent: oncue is paused by anna' },
      delivery: { waiting: 2, oldestWaiting: NOW, paused: { at: NOW, by: 'anna', until: null }, limit: null },
    })
    const { screen } = await renderApp('/alerts', {
      answers: {
        ...{ 'alerts.list': () => page(), 'health.get': () => health, 'queues.resume': () => null },
      },
    })
    expect(await screen.findByText('No alerts are sent: oncue is paused by anna')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Resume alerts'))
    expect(await screen.findByText('“oncue” resumed')).toBeVisible()
  })

  it('says why nothing can be shown', async () => {
    const { screen } = await renderApp('/alerts', { answers: { 'alerts.list': offline } })
    expect(await screen.findByText('The server is not responding')).toBeVisible()
  })

  it('names a server of another version', async () => {
    const { screen } = await renderApp('/alerts', {
      answers: {
        'alerts.list': () => {
          throw new OncueError('NOT_FOUND', 'No procedure alerts.list')
        },
      },
    })
    expect(await screen.findByText('Incompatible server version')).toBeVisible()
  })

  it('opens an alert without changing the list', async () => {
    const resolved = alertOf(3, { state: 'resolved', resolvedAt: minutesAgo(1) })
    const { app, screen } = await renderApp('/alerts', {
      answers: {
        'alerts.list': (input) => (input?.state === 'resolved' ? page(resolved) : page()),
        'alerts.get': () => resolved,
        'alerts.rules': () => [],
      },
    })
    fireEvent.press(await screen.findByLabelText('Resolved'))
    fireEvent.press(await screen.findByLabelText(/^Resolved: mail/))
    expect(app.getPathnameWithParams()).toBe(`/alerts/${resolved.id}?view=resolved`)
  })
})

describe('Rules', () => {
  const RULE = '0199a000-0000-7000-8000-00000000000a'

  it('say in words when an alert is sent', async () => {
    const { screen } = await renderApp('/alerts?view=rules', {
      answers: { 'alerts.rules': () => [ruleOf(RULE, { enabled: false })] },
    })
    expect(await screen.findByText(/When the oldest job waits longer than 5.min, for 1.min/)).toBeVisible()
    expect(screen.getByText('Off')).toBeVisible()
  })

  it('are changed by an admin, in minutes rather than seconds', async () => {
    const changed: unknown[] = []
    const { screen } = await renderApp('/alerts?view=rules', {
      answers: {
        'alerts.rules': () => [ruleOf(RULE)],
        'alerts.updateRule': (input) => {
          changed.push(input)
          return ruleOf(RULE)
        },
      },
    })
    fireEvent.press(await screen.findByLabelText(/^Rule Jobs wait too long/))
    fireEvent.changeText(await screen.findByLabelText('Limit, in minutes'), '10')
    fireEvent.press(screen.getByLabelText('Enabled'))
    fireEvent.press(screen.getByLabelText('Save'))
    expect(await screen.findByText('Rule saved')).toBeVisible()
    expect(changed).toEqual([
      { id: RULE, name: 'Jobs wait too long', threshold: 600, forSeconds: 60, enabled: false },
    ])
  })

  it('are created for a picked queue or topic, and warn about an unknown one', async () => {
    const created: unknown[] = []
    const { screen } = await renderApp('/alerts?view=rules', {
      answers: {
        'alerts.rules': () => [],
        'topics.list': () => [],
        'alerts.createRule': (input) => {
          created.push(input)
          return { ...ruleOf(RULE), warning: 'No worker has announced a topic mial: check its name' }
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Add a rule'))
    const [queue] = healthOf().queues
    fireEvent.press(await screen.findByLabelText(queue?.queue ?? ''))
    expect(screen.getByLabelText('Queue')).toHaveProp('value', queue?.queue)
    fireEvent.press(screen.getByLabelText('Topic fails too often'))
    fireEvent.changeText(screen.getByLabelText('Name'), 'mail fails')
    fireEvent.changeText(await screen.findByLabelText('Topic'), 'mial')
    fireEvent.press(screen.getByLabelText('Save'))
    expect(await screen.findByText(/^Rule added. No worker has announced a topic mial/)).toBeVisible()
    expect(created).toMatchObject([
      { kind: 'topic_failure_rate', topic: 'mial', queue: null, threshold: 0.05 },
    ])
  })

  it('are not saved with an invalid limit', async () => {
    const { screen } = await renderApp('/alerts?view=rules', {
      answers: { 'alerts.rules': () => [ruleOf(RULE)] },
    })
    fireEvent.press(await screen.findByLabelText(/^Rule Jobs wait too long/))
    fireEvent.changeText(await screen.findByLabelText('Limit, in minutes'), 'soon')
    fireEvent.press(screen.getByLabelText('Save'))
    expect(await screen.findByText('Enter a number, such as 5')).toBeVisible()
  })

  it('are read-only for other roles, with the reason', async () => {
    const { screen } = await renderApp('/alerts?view=rules', {
      role: 'operator',
      answers: { 'alerts.rules': () => [ruleOf(RULE)] },
    })
    expect(await screen.findByText('You are an operator. Admins can do this.')).toBeVisible()
    expect(screen.getByLabelText('Add a rule')).toBeDisabled()
  })
})

describe('Channels', () => {
  const CHANNEL = '0199a000-0000-7000-8000-00000000000b'

  it('say when the last message was delivered, and since when deliveries fail', async () => {
    const { screen } = await renderApp('/alerts?view=channels', {
      answers: {
        'channels.list': () => [
          channelOf('a'),
          channelOf('b', { name: 'dead', failingSince: minutesAgo(125), lastError: 'answered 500' }),
        ],
      },
    })
    expect(await screen.findByText(/^Last delivered .* ago/)).toBeVisible()
    expect(screen.getByText(/^Failing for .*: answered 500; last delivered/)).toBeVisible()
  })

  it('are tested, and show the result', async () => {
    const { screen } = await renderApp('/alerts?view=channels', {
      role: 'operator',
      answers: {
        'channels.list': () => [channelOf(CHANNEL)],
        'channels.test': () => ({ delivered: false, error: 'example.com answered 500' }),
      },
    })
    fireEvent.press(await screen.findByLabelText(/^webhook pager/))
    fireEvent.press(await screen.findByLabelText('Send a test'))
    expect(await screen.findByText('The test was not delivered')).toBeVisible()
    expect(screen.getByText('example.com answered 500')).toBeVisible()
  })

  it('are added for each service, with the fields that it needs', async () => {
    const created: unknown[] = []
    const { screen } = await renderApp('/alerts?view=channels', {
      answers: {
        'channels.list': () => [],
        'channels.create': (input) => {
          created.push(input)
          return { ...channelOf(CHANNEL), secret: null }
        },
      },
    })
    const add = async (kind: string, field: string, value: string) => {
      fireEvent.press(await screen.findByLabelText('Add a channel'))
      fireEvent.press(await screen.findByLabelText(kind))
      fireEvent.changeText(screen.getByLabelText('Name'), 'night')
      fireEvent.changeText(await screen.findByLabelText(field), value)
      fireEvent.press(screen.getByLabelText('Add'))
    }
    await add('PagerDuty', 'Integration key', 'abcdef0123456789')
    await add('E-mail', 'E-mail address', 'on-call@example.com')
    await add('ntfy', 'Address', 'https://ntfy.sh/night')
    await waitFor(() => expect(created).toHaveLength(3))
    fireEvent.press(await screen.findByLabelText('Add a channel'))
    fireEvent.press(await screen.findByLabelText('ntfy'))
    fireEvent.press(await screen.findByLabelText('Urgent'))
    fireEvent.changeText(screen.getByLabelText('Name'), 'night')
    fireEvent.changeText(screen.getByLabelText('Address'), 'https://ntfy.sh/night')
    fireEvent.press(screen.getByLabelText('Add'))
    await waitFor(() =>
      expect(created).toEqual([
        { kind: 'pagerduty', name: 'night', key: 'abcdef0123456789' },
        { kind: 'email', name: 'night', to: 'on-call@example.com' },
        { kind: 'ntfy', name: 'night', url: 'https://ntfy.sh/night', priority: 4 },
        { kind: 'ntfy', name: 'night', url: 'https://ntfy.sh/night', priority: 5 },
      ]),
    )
  })

  it('say plainly that there are none', async () => {
    const { screen } = await renderApp('/alerts?view=channels', { answers: { 'channels.list': () => [] } })
    expect(await screen.findByText('No channels yet')).toBeVisible()
  })
})
