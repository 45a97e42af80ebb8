import { OncueError } from '@oncue/sdk'
import { act, fireEvent } from 'expo-router/testing-library'
import { StyleSheet } from 'react-native'
import { healthOf, NOW } from '../../testing/health.ts'
import { offline, renderApp } from '../../testing/render-app.tsx'
import { light } from '../../theme/tokens.ts'

describe('the shell', () => {
  it('names the environment and says that it is live', async () => {
    const { screen } = await renderApp('/')
    expect(await screen.findByText('STAGING')).toBeVisible()
    expect(await screen.findByText('Live')).toBeVisible()
  })

  it('shows how many alerts are firing', async () => {
    const alerts = { firing: 3, acked: 0, snoozed: 0 }
    const { screen } = await renderApp('/', { answers: { 'health.get': () => healthOf({ alerts }) } })
    expect(await screen.findByLabelText('Alerts, 3 firing')).toBeVisible()
  })

  it('switches between tabs', async () => {
    const { app, screen } = await renderApp('/')
    fireEvent.press(await screen.findByLabelText('Queues'))
    expect(app.getPathname()).toBe('/queues')
  })

  it('opens a link to a detail, with a way back to its list', async () => {
    const { app, screen } = await renderApp('/queues/mail')
    expect(await screen.findByRole('heading', { name: 'mail' })).toBeVisible()
    fireEvent.press(screen.getByLabelText('Back'))
    expect(app.getPathname()).toBe('/queues')
  })
})

describe('a server that does not respond', () => {
  it('is reported once, above every screen, and every duration on the screen stops', async () => {
    let isUp = true
    const waiting = { value: new Date(NOW.getTime() - 60_000), spark: Array(30).fill(0) }
    const health = () => (isUp ? healthOf({ oldestWaiting: waiting }) : offline())
    const { screen } = await renderApp('/', { answers: { 'health.get': health, 'health.watch': offline } })
    const oldest = () => screen.getByLabelText(/^Oldest waiting: /).props.accessibilityLabel
    await act(() => jest.advanceTimersByTimeAsync(12_000))
    const before = oldest()
    await act(() => jest.advanceTimersByTimeAsync(3_000))
    expect(oldest()).not.toBe(before)
    isUp = false
    await act(() => jest.advanceTimersByTimeAsync(60_000))
    expect(screen.getAllByText(/offline|not responding|out of date/i)).toHaveLength(2)
    expect(screen.getByText(/^Offline, data from \d/)).toBeVisible()
    expect(screen.getByText(/^Last known: /)).toBeVisible()
    const frozen = oldest()
    await act(() => jest.advanceTimersByTimeAsync(60_000))
    expect(oldest()).toBe(frozen)
    isUp = true
    fireEvent.press(screen.getByLabelText('Reconnect'))
    await act(() => jest.advanceTimersByTimeAsync(2_000))
    expect(screen.queryByText(/^Offline/)).toBeNull()
    expect(oldest()).not.toBe(frozen)
  })

  it('turns ages into times, which do not look live, and greys the count of alerts', async () => {
    let isUp = true
    const failure = {
      ...{ fingerprint: 'f00d', class: 'SmtpTimeout', message: 'no answer', topics: ['digest'] },
      ...{ queues: ['mail'], retrying: 3, undoing: 0, retryingIsExact: true, failed: 0, isNew: false },
      ...{ lastSeen: new Date(NOW.getTime() - 6_000), nextTryAt: new Date(NOW.getTime() + 40_000) },
    }
    const known = healthOf({ failures: [failure], alerts: { firing: 2, acked: 0, snoozed: 0 } })
    const health = () => (isUp ? known : offline())
    const { screen } = await renderApp('/', { answers: { 'health.get': health, 'health.watch': offline } })
    await act(() => jest.advanceTimersByTimeAsync(12_000))
    expect(screen.getByText(/^last seen \d+.s.ago$/)).toBeVisible()
    expect(screen.getByText(/next try in /)).toBeVisible()
    const colour = () => StyleSheet.flatten(screen.getByTestId('alert-count').props.style).backgroundColor
    expect(colour()).toBe(light.bad)
    isUp = false
    await act(() => jest.advanceTimersByTimeAsync(60_000))
    expect(screen.getByText('last seen at 04:11:54')).toBeVisible()
    expect(screen.getByText('3 retrying · next try at 04:12:40')).toBeVisible()
    expect(screen.getByLabelText(/^SmtpTimeout: .*, last seen at 04:11:54$/)).toBeVisible()
    expect(colour()).toBe(light.surfaceSunken)
    expect(screen.getByLabelText('Alerts, 2 firing when last known')).toBeVisible()
  })

  it('leaves a page that was never loaded empty, without a second explanation', async () => {
    const answers = { 'health.get': offline, 'health.watch': offline, 'workers.list': offline }
    const { screen } = await renderApp('/workers', { answers })
    await act(() => jest.advanceTimersByTimeAsync(10_000))
    expect(screen.getByText('Not loaded')).toBeVisible()
    expect(screen.getAllByText(/not responding/)).toHaveLength(1)
  })
})

describe('the bar of a phone', () => {
  it('has Jobs and More one tap away', async () => {
    const { app, screen } = await renderApp('/')
    fireEvent.press(await screen.findByLabelText('Jobs'))
    expect(app.getPathname()).toBe('/jobs')
    fireEvent.press(screen.getByLabelText('More'))
    expect(app.getPathname()).toBe('/settings')
    expect(await screen.findByLabelText('Workers')).toBeVisible()
  })
})

describe('the gate', () => {
  it('shows the sign-in form in place of a screen, and the screen after signing in', async () => {
    const { app, screen, signIn } = await renderApp('/queues/mail', { isSignedOut: true })
    expect(await screen.findByText('Connect to Oncue')).toBeVisible()
    expect(screen.queryByText('mail')).toBeNull()
    act(signIn)
    expect(await screen.findByRole('heading', { name: 'mail' })).toBeVisible()
    expect(app.getPathname()).toBe('/queues/mail')
  })

  it('returns when the server rejects the session', async () => {
    const { screen } = await renderApp('/', {
      answers: {
        'health.get': () => {
          throw new OncueError('UNAUTHORIZED', 'revoked')
        },
        'health.watch': () => {
          throw new OncueError('UNAUTHORIZED', 'revoked')
        },
      },
    })
    expect(await screen.findByText(/Your session has expired/)).toBeVisible()
  })
})
