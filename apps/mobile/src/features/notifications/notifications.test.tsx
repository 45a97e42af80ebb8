import AsyncStorage from '@react-native-async-storage/async-storage'
import Constants from 'expo-constants'
import * as Native from 'expo-notifications'
import { act, fireEvent, waitFor } from 'expo-router/testing-library'
import { alertOf, minutesAgo } from '../../testing/alerts.ts'
import { healthOf } from '../../testing/health.ts'
import { renderApp } from '../../testing/render-app.tsx'

const pressed = jest.mocked(Native.useLastNotificationResponse)
const page = (...items: ReturnType<typeof alertOf>[]) => ({ items, nextCursor: null })

/** A stream that a test writes to. */
function streamOf<Message>() {
  const waiting: Message[] = []
  let wake = () => {}
  return {
    push(message: Message) {
      waiting.push(message)
      wake()
    },
    async *read() {
      for (;;) {
        const next = waiting.shift()
        if (next) yield next
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }
}

const healthWith = (firing: number) => healthOf({ alerts: { firing, acked: 0, snoozed: 0 } })

describe('In the app', () => {
  it('a toast announces an alert that begins to fire, and leads to it', async () => {
    const stream = streamOf<ReturnType<typeof healthOf>>()
    const alert = alertOf(1, { firedAt: minutesAgo(0) })
    const { app, screen } = await renderApp('/settings', {
      answers: {
        'health.watch': (() => stream.read()) as never,
        'devices.list': () => [],
        'alerts.list': () => page(alert),
        'alerts.get': () => alert,
        'alerts.rules': () => [],
      },
    })
    stream.push(healthWith(0))
    await screen.findByText('Live')
    await act(async () => stream.push(healthWith(1)))
    expect(await screen.findByText(alert.summary)).toBeVisible()
    fireEvent.press(screen.getByLabelText('Open'))
    expect(app.getPathname()).toBe(`/alerts/${alert.id}`)
  })
})

describe('On a notification', () => {
  const respond = (actionIdentifier: string) =>
    pressed.mockReturnValue({
      actionIdentifier,
      notification: { request: { content: { data: { path: `/alerts/${alertOf(1).id}` } } } },
    } as unknown as Native.NotificationResponse)

  afterEach(() => void pressed.mockReturnValue(null))

  it.each([
    ['ack', 'Acknowledged: no more notifications'],
    ['snooze', 'Snoozed for 1 h'],
  ])('%s is done at once, and undone', async (action, told) => {
    const said: string[] = []
    const mark = (name: string) => () => {
      said.push(name)
      return { ...alertOf(1), alerts: [alertOf(1)] }
    }
    respond(action)
    const { app, screen } = await renderApp('/', {
      answers: {
        ...{ 'alerts.ack': mark('ack'), 'alerts.unack': mark('unack') },
        ...{ 'alerts.snooze': mark('snooze'), 'alerts.unsnooze': mark('unsnooze') },
        ...{ 'alerts.get': () => alertOf(1), 'alerts.rules': () => [] },
      },
    })
    expect(await screen.findByText(told)).toBeVisible()
    expect(app.getPathname()).toBe(`/alerts/${alertOf(1).id}`)
    fireEvent.press(screen.getByLabelText('Undo'))
    await waitFor(() => expect(said).toEqual([action, `un${action}`]))
  })

  it('opening leads to the alert and does nothing else', async () => {
    respond('open')
    const { app } = await renderApp('/', {
      answers: { 'alerts.get': () => alertOf(1), 'alerts.rules': () => [] },
    })
    await waitFor(() => expect(app.getPathname()).toBe(`/alerts/${alertOf(1).id}`))
  })
})

describe('Turned on', () => {
  it('registers this device, and unregisters it when turned off', async () => {
    Object.assign(Constants.expoConfig ?? {}, { extra: { eas: { projectId: 'p' } } })
    const registered: unknown[] = []
    const { screen } = await renderApp('/settings', {
      answers: {
        'devices.list': () => [],
        'devices.registerPush': ({ pushToken }) => {
          registered.push(pushToken)
          return null
        },
        'devices.testPush': () => ({ delivered: true, error: null }),
      },
    })
    const toggle = await screen.findByRole('switch', { name: 'Notify me of alerts' })
    fireEvent.press(toggle)
    fireEvent.press(await screen.findByLabelText('Send a test'))
    expect(await screen.findByText('Test notification sent')).toBeVisible()
    fireEvent.press(toggle)
    await waitFor(() => expect(registered).toEqual(['ExponentPushToken[test]', null]))
    expect(Native.setNotificationChannelAsync).toHaveBeenCalledWith('alerts', expect.anything())
    expect(Native.setNotificationCategoryAsync).toHaveBeenCalledWith('alert', expect.anything())
  })

  it('says what is missing where the build has no project of Expo', async () => {
    const { screen } = await renderApp('/settings', { answers: { 'devices.list': () => [] } })
    fireEvent.press(await screen.findByLabelText('Notify me of alerts'))
    expect(await screen.findByText(/built without an Expo project/)).toBeVisible()
    expect(screen.getByRole('switch', { name: 'Notify me of alerts' })).not.toBeChecked()
  })

  it('says what to do when the phone forbids it', async () => {
    jest.mocked(Native.requestPermissionsAsync).mockResolvedValueOnce({ granted: false } as never)
    const { screen } = await renderApp('/settings', { answers: { 'devices.list': () => [] } })
    fireEvent.press(await screen.findByLabelText('Notify me of alerts'))
    expect(await screen.findByText(/Allow them in your phone's settings/)).toBeVisible()
  })

  it('says when the phone forbids it later', async () => {
    await AsyncStorage.setItem('oncue.preferences', JSON.stringify({ notifiedBy: ['test'] }))
    jest.mocked(Native.getPermissionsAsync).mockResolvedValue({ granted: false } as never)
    const { screen } = await renderApp('/settings', { answers: { 'devices.list': () => [] } })
    expect(await screen.findByText('Notifications are not arriving')).toBeVisible()
    jest.mocked(Native.getPermissionsAsync).mockResolvedValue({ granted: true } as never)
  })

  afterEach(async () => {
    Object.assign(Constants.expoConfig ?? {}, { extra: undefined })
    await AsyncStorage.clear()
  })
})
