import type { TestAnswers } from '@oncue/sdk/testing'
import AsyncStorage from '@react-native-async-storage/async-storage'
import { router } from 'expo-router'
import { act, fireEvent, waitFor, within } from 'expo-router/testing-library'
import { deviceOf } from '../../testing/admin.ts'
import { minutesAgo } from '../../testing/alerts.ts'
import { healthOf, NOW, queueOf } from '../../testing/health.ts'
import { offline, renderApp } from '../../testing/render-app.tsx'

const ID = '0199a000-0000-7000-8000-00000000000d'
const noDevices = { 'devices.list': () => [] } as const

describe('Settings', () => {
  it('lead to the other pages on a phone', async () => {
    const { app, screen } = await renderApp('/settings', {
      answers: { ...noDevices, 'workers.list': () => [] },
    })
    fireEvent.press(await screen.findByLabelText('Workers'))
    expect(app.getPathname()).toBe('/workers')
  })

  it('choose a theme', async () => {
    const { screen } = await renderApp('/settings', { answers: noDevices })
    fireEvent.press(await screen.findByLabelText('Dark'))
    expect(await screen.findByRole('radio', { name: 'Dark', checked: true })).toBeVisible()
    fireEvent.press(screen.getByLabelText('System'))
  })

  it('show all times in UTC when told so, also on pages that are open, and keep that', async () => {
    const paused = { at: new Date('2026-11-16T03:12:00Z'), by: null, until: null }
    const { screen } = await renderApp('/queues/mail', {
      answers: {
        ...noDevices,
        'health.get': () => healthOf({ queues: [queueOf('mail', { state: 'paused', paused })] }),
        'jobs.stats': offline,
        'jobs.series': () => [],
        'jobs.failures': () => [],
        'workers.list': () => [],
      },
    })
    expect(await screen.findByText(/^Since 16.Nov, 04:12:00.UTC\+1\./)).toBeVisible()
    act(() => router.push('/settings'))
    fireEvent.press(await screen.findByRole('radio', { name: 'UTC' }))
    expect(screen.getByText(/^Now \d\d:\d\d.UTC$/)).toBeVisible()
    act(() => router.back())
    expect(await screen.findByText(/^Since 16.Nov, 03:12:00.UTC\./)).toBeVisible()
    expect(await AsyncStorage.getItem('oncue.preferences')).toMatch(/"times":"utc"/)
    act(() => router.push('/settings'))
    fireEvent.press(await screen.findByRole('radio', { name: 'Local' }))
    expect(screen.getByText(/^Now \d\d:\d\d.UTC\+[12]$/)).toBeVisible()
  })

  it('say who is signed in, and show the versions of app and server', async () => {
    const { screen } = await renderApp('/settings', { role: 'operator', answers: noDevices })
    expect(await screen.findByText('somebody')).toBeVisible()
    expect(screen.getByText('operator')).toBeVisible()
    expect(await screen.findByText('SQLite')).toBeVisible()
  })
})

describe('Devices', () => {
  it('say which is this one, and which notifications do not reach', async () => {
    const failing = { lastDelivered: null, failingSince: minutesAgo(30), lastError: 'Expo returned 500' }
    const { screen } = await renderApp('/settings', {
      answers: {
        'devices.list': () => [
          deviceOf('1', { name: 'Tablet', isThis: true }),
          deviceOf('2', { push: failing }),
        ],
      },
    })
    expect(await screen.findByLabelText(/^Tablet, this device, operator/)).toBeVisible()
    expect(screen.getByLabelText(/^Pixel, operator, .*, notifications failing$/)).toBeVisible()
  })

  it('are renamed', async () => {
    const renamed: unknown[] = []
    const { screen } = await renderApp('/settings', {
      role: 'operator',
      answers: {
        'devices.list': () => [deviceOf(ID)],
        'devices.rename': (input) => {
          renamed.push(input)
          return null
        },
      },
    })
    fireEvent.press(await screen.findByLabelText(/^Pixel/))
    fireEvent.changeText(await screen.findByLabelText('Name'), ' Pixel of the night ')
    fireEvent.press(screen.getByLabelText('Save the name'))
    await waitFor(() => expect(renamed).toEqual([{ id: ID, name: 'Pixel of the night' }]))
  })

  it('are revoked together with the token that made them, by an admin', async () => {
    const revoked: unknown[] = []
    const answers: TestAnswers = {
      'devices.list': () => [deviceOf(ID, { maker: { id: 't1', kind: 'token', name: 'laptop of ada' } })],
      'tokens.revoke': (input) => {
        revoked.push(input)
        return { devices: 3 }
      },
    }
    const { screen } = await renderApp('/settings', { answers })
    fireEvent.press(await screen.findByLabelText(/^Pixel/))
    expect(await screen.findByText('the token “laptop of ada”')).toBeVisible()
    expect(screen.queryByText(/you will be signed out/)).toBeNull()
    const button = screen.getByLabelText('Hold to revoke the token “laptop of ada” and its devices')
    fireEvent.press(button)
    await act(() => jest.advanceTimersByTimeAsync(1_100))
    fireEvent.press(button)
    await waitFor(() => expect(revoked).toEqual([{ id: 't1' }]))
    expect(await screen.findByText(/^The token “laptop of ada” and 3.devices revoked/)).toBeVisible()
  })

  it.each([
    [
      'with this token',
      [deviceOf('d2'), deviceOf('d3', { maker: { id: 'd2', kind: 'device', name: 'Pixel' } })],
    ],
    ['with a device of this token', [deviceOf('token', { maker: { id: 't1', kind: 'token', name: 'ada' } })]],
  ])('warn those who are signed in %s', async (how, others) => {
    const maker = { id: how === 'with this token' ? 'token' : 't1', kind: 'token', name: 'ada' } as const
    const { screen } = await renderApp('/settings', {
      answers: { 'devices.list': () => [deviceOf(ID, { name: 'Tablet', maker }), ...others] },
    })
    fireEvent.press(await screen.findByLabelText(/^Tablet/))
    const warning = await screen.findByText(/you will be signed out/)
    expect(warning.props.children.replaceAll('\u00a0', ' ')).toBe(
      `You are signed in ${how}: you will be signed out. Revokes ${others.length + 1} devices.`,
    )
    // Beside the button that it is about, and apart from the one that revokes the device.
    const token = within(screen.getByLabelText('The token ada'))
    expect(token.getByText(/you will be signed out/)).toBeVisible()
    expect(token.getByLabelText('Hold to revoke the token “ada” and its devices')).toBeVisible()
    expect(token.queryByLabelText('Hold to revoke the device “Tablet”')).toBeNull()
    expect(screen.getByLabelText('Hold to revoke the device “Tablet”')).toBeVisible()
  })

  it('have dates with the year where it is another one', async () => {
    const dates = {
      created: new Date('2024-03-01T11:00:00Z'),
      lastUsed: NOW,
      expiresAt: new Date('2027-02-14T11:00:00Z'),
      idleUntil: null,
    }
    const { screen } = await renderApp('/settings', {
      answers: { 'devices.list': () => [deviceOf(ID, dates)] },
    })
    fireEvent.press(await screen.findByLabelText(/^Pixel/))
    expect(await screen.findByText(/^1.Mar 2024, 12:00:00.UTC\+1 by ada$/)).toBeVisible()
    expect(screen.getByText(/^14.Feb 2027, 12:00:00.UTC\+1$/)).toBeVisible()
    expect(screen.getByText(/^16.Nov, 04:12:00.UTC\+1$/)).toBeVisible()
  })

  it('of a higher role are locked, with the reason', async () => {
    const { screen } = await renderApp('/settings', {
      role: 'operator',
      answers: { 'devices.list': () => [deviceOf(ID, { role: 'admin' })] },
    })
    fireEvent.press(await screen.findByLabelText(/^Pixel/))
    expect(await screen.findByLabelText('Name')).toHaveProp('editable', false)
    expect(screen.getByText('You are an operator. Admins can do this.')).toBeVisible()
    expect(screen.getByLabelText('Revoke')).toBeDisabled()
    expect(screen.queryByLabelText(/^Hold to revoke/)).toBeNull()
  })

  it('let only admins revoke the token that made them', async () => {
    const { screen } = await renderApp('/settings', {
      role: 'operator',
      answers: { 'devices.list': () => [deviceOf(ID)] },
    })
    fireEvent.press(await screen.findByLabelText(/^Pixel/))
    expect(await screen.findByLabelText('Hold to revoke the device “Pixel”')).toBeVisible()
    expect(screen.getByText('Depends on')).toBeVisible()
    expect(screen.getByText('Expires')).toBeVisible()
    expect(screen.queryByLabelText(/revoke the token/)).toBeNull()
  })

  it('are not shown to a viewer, with the reason', async () => {
    const { screen } = await renderApp('/settings', { role: 'viewer' })
    expect(await screen.findByText(/Only operators and admins see the list of devices/)).toBeVisible()
    expect(screen.getByLabelText('Pair a device')).toBeDisabled()
  })

  it('get a warning when another one cannot reach the address', async () => {
    const { screen } = await renderApp('/settings', {
      role: 'operator',
      answers: {
        ...noDevices,
        'pairings.create': () => ({
          ...{ id: 'p', code: 'YM4-TJS-94K', url: 'http://localhost:4400/pair?code=YM4-TJS-94K' },
          ...{ role: 'operator', expiresAt: minutesAgo(-5) },
        }),
      },
    })
    fireEvent.press(await screen.findByLabelText('Pair a device'))
    fireEvent.press(await screen.findByLabelText('Create a code'))
    expect(await screen.findByText('Another device cannot open this link')).toBeVisible()
    expect(screen.getByText(/^localhost:4400 means the device that opens it/)).toBeVisible()
  })

  it('are paired by a QR code that expires', async () => {
    const asked: unknown[] = []
    const { screen } = await renderApp('/settings', {
      role: 'operator',
      answers: {
        ...noDevices,
        'pairings.create': (input) => {
          asked.push(input)
          return {
            ...{ id: 'p', code: 'YM4-TJS-94K', url: 'https://oncue.test/pair?code=YM4-TJS-94K' },
            ...{ role: 'viewer', expiresAt: minutesAgo(-5) },
          }
        },
      },
    })
    fireEvent.press(await screen.findByLabelText('Pair a device'))
    fireEvent.press(await screen.findByLabelText('Viewer'))
    // An operator cannot create admins.
    expect(screen.queryByLabelText('Admin')).toBeNull()
    fireEvent.press(screen.getByLabelText('Create a code'))
    expect(await screen.findByText('YM4-TJS-94K')).toBeVisible()
    expect(screen.getByLabelText(/^Pairing code to scan/)).toBeVisible()
    expect(asked).toEqual([{ role: 'viewer' }])
    await act(() => jest.advanceTimersByTimeAsync(301_000))
    expect(screen.getByText('This code has expired')).toBeVisible()
  })
})
