import { createClient, OncueError } from '@oncue/sdk'
import { createTestClient, type TestAnswers } from '@oncue/sdk/testing'
import AsyncStorage from '@react-native-async-storage/async-storage'
import Constants from 'expo-constants'
import { act, fireEvent, renderRouter, screen, waitFor } from 'expo-router/testing-library'
import * as SecureStore from 'expo-secure-store'
import type { Me } from '../../lib/probe.ts'
import { Session, SessionContext } from '../../lib/session.ts'
import { deviceOf } from '../../testing/admin.ts'
import { healthOf } from '../../testing/health.ts'
import { offline } from '../../testing/render-app.tsx'

jest.mock('expo-secure-store', () => {
  const kept = new Map<string, string>()
  return {
    WHEN_UNLOCKED_THIS_DEVICE_ONLY: 6,
    getItemAsync: async (name: string) => kept.get(name) ?? null,
    setItemAsync: jest.fn(async (name: string, value: string) => void kept.set(name, value)),
    deleteItemAsync: async (name: string) => void kept.delete(name),
  }
})
jest.mock('@oncue/sdk', () => ({ ...jest.requireActual('@oncue/sdk'), createClient: jest.fn() }))

const DEVICE: Me = {
  ...{
    kind: 'device',
    id: 'this-phone',
    name: 'Pixel',
    role: 'viewer',
    allowedTopics: null,
    allowedQueues: null,
    expiresAt: null,
  },
  may: ['read'],
}
const DAY = { name: 'day.example', url: 'https://day.example', token: 'oncue.token.https___day.example' }
const NIGHT = {
  name: 'night.example',
  url: 'https://night.example',
  token: 'oncue.token.https___night.example',
}

/** Answers of each server in addition to the common ones, and the devices that were revoked. */
let answers: Record<string, TestAnswers>
let revoked: string[]

beforeEach(() => {
  answers = {}
  revoked = []
  jest.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.json({ status: 'ok' }))
  jest.mocked(createClient).mockImplementation((({ url }: { url: string }) =>
    createTestClient({
      answers: {
        'tokens.me': () => DEVICE,
        'health.get': () => healthOf(),
        'health.watch': () => never(),
        'devices.revoke': ({ id }) => {
          revoked.push(`${id} at ${url}`)
          return null
        },
        ...answers[url],
      },
    })) as never)
})

async function* never() {
  await new Promise<never>(() => {})
}

/** Settings of a phone that is connected to these servers; the last one is in use. */
async function renderSettings(...servers: readonly (typeof DAY)[]) {
  const session = new Session()
  for (const { url } of servers) expect(await session.signIn(url, 'secret')).toMatchObject({ ok: true })
  renderRouter('./src/app', {
    initialUrl: '/settings',
    wrapper: ({ children }) => <SessionContext.Provider value={session}>{children}</SessionContext.Provider>,
  })
  await screen.findByText(/^Pixel( \(device\))?$/)
  return session
}

const STILL_LISTED =
  'Signed out here. night.example is unreachable, so a paired device stays listed there until it is revoked.'

describe('Signing out', () => {
  it('revokes this device at its server, before the token is forgotten', async () => {
    const tokens: (string | null)[] = []
    answers[NIGHT.url] = {
      'devices.revoke': ({ id }) => {
        revoked.push(id)
        void SecureStore.getItemAsync(NIGHT.token).then((token) => tokens.push(token))
        return null
      },
    }
    await renderSettings(NIGHT)
    fireEvent.press(screen.getByLabelText('Sign out'))
    expect(await screen.findByText('Connect to Oncue')).toBeVisible()
    expect(revoked).toEqual(['this-phone'])
    expect(tokens).toEqual(['secret'])
    expect(await SecureStore.getItemAsync(NIGHT.token)).toBeNull()
    expect(screen.queryByText(/still listed/)).toBeNull()
  })

  it('works without the server, and says that the device is still listed there', async () => {
    answers[NIGHT.url] = { 'devices.revoke': offline }
    await renderSettings(NIGHT)
    fireEvent.press(screen.getByLabelText('Sign out'))
    expect(await screen.findByText('Connect to Oncue')).toBeVisible()
    expect(await screen.findByText(STILL_LISTED)).toBeVisible()
    expect(await SecureStore.getItemAsync(NIGHT.token)).toBeNull()
  })

  it('is done when the device was revoked already', async () => {
    answers[NIGHT.url] = {
      'devices.revoke': () => {
        throw new OncueError('UNAUTHORIZED', 'The token was revoked')
      },
    }
    await renderSettings(NIGHT)
    fireEvent.press(screen.getByLabelText('Sign out'))
    expect(await screen.findByText('Connect to Oncue')).toBeVisible()
    expect(screen.queryByText(/still listed/)).toBeNull()
  })

  it('does not revoke a token that was typed in: others may use it', async () => {
    answers[NIGHT.url] = { 'tokens.me': () => ({ ...DEVICE, kind: 'token' }) }
    await renderSettings(NIGHT)
    fireEvent.press(screen.getByLabelText('Sign out'))
    expect(await screen.findByText('Connect to Oncue')).toBeVisible()
    expect(revoked).toEqual([])
  })
})

it('a token is stored out of backups, and cannot be read while the phone is locked', async () => {
  await new Session().signIn(NIGHT.url, 'secret')
  expect(SecureStore.setItemAsync).toHaveBeenLastCalledWith(NIGHT.token, 'secret', {
    keychainAccessible: SecureStore.WHEN_UNLOCKED_THIS_DEVICE_ONLY,
  })
})

describe('A newly paired server', () => {
  const told: string[] = []
  beforeEach(() => {
    told.length = 0
    Object.assign(Constants.expoConfig ?? {}, { extra: { eas: { projectId: 'p' } } })
    for (const { url } of [DAY, NIGHT])
      answers[url] = {
        'pairings.exchange': () => ({ device: deviceOf('d'), secret: 'secret' }),
        'devices.list': () => [],
        'devices.registerPush': ({ pushToken }) => {
          told.push(`${url} ${pushToken}`)
          return null
        },
      }
  })
  afterEach(async () => {
    Object.assign(Constants.expoConfig ?? {}, { extra: undefined })
    await AsyncStorage.clear()
  })

  it('does not get the push token before notifications are turned on', async () => {
    const session = await renderSettings(DAY)
    const toggle = () => screen.findByRole('switch', { name: 'Notify me of alerts' })
    fireEvent.press(await toggle())
    await waitFor(() => expect(told).toEqual([`${DAY.url} ExponentPushToken[test]`]))
    await waitFor(async () => expect(await toggle()).toBeChecked())

    await act(async () => void (await session.pair(NIGHT.url, 'CODE', 'phone')))
    expect(await screen.findByLabelText('night.example, in use')).toBeVisible()
    await waitFor(async () => expect(await toggle()).not.toBeChecked())
    expect(told).toHaveLength(1)
    fireEvent.press(await toggle())
    await waitFor(() => expect(told.at(-1)).toBe(`${NIGHT.url} ExponentPushToken[test]`))

    // Pairing with the same server again makes another device there.
    await act(async () => void (await session.pair(NIGHT.url, 'CODE', 'phone')))
    await waitFor(async () => expect(await toggle()).not.toBeChecked())
    expect(told).toHaveLength(2)
    fireEvent.press(await toggle())
    await waitFor(() => expect(told).toHaveLength(3))
  })
})

describe('Several servers', () => {
  it('are kept and switched, and kept over a restart', async () => {
    const session = await renderSettings(DAY, NIGHT)
    expect(screen.getByLabelText('night.example, in use')).toBeVisible()
    fireEvent.press(screen.getByLabelText('day.example'))
    fireEvent.press(await screen.findByLabelText('Use this server'))
    expect(await screen.findByLabelText('day.example, in use')).toBeVisible()
    const restarted = new Session()
    await restarted.start()
    expect(restarted.state.get()).toMatchObject({ status: 'signed-in', server: { url: DAY.url } })
    expect(restarted.servers.get()).toEqual(session.servers.get())
  })

  it('are signed out of one by one: the others stay', async () => {
    await renderSettings(DAY, NIGHT)
    fireEvent.press(screen.getByLabelText('day.example'))
    fireEvent.press(await screen.findByLabelText('Remove from this phone'))
    await waitFor(() => expect(screen.queryByLabelText('day.example')).toBeNull())
    expect(revoked).toEqual([`this-phone at ${DAY.url}`])
    expect(await SecureStore.getItemAsync(DAY.token)).toBeNull()
    expect(await SecureStore.getItemAsync(NIGHT.token)).toBe('secret')
    expect(screen.getByLabelText('night.example, in use')).toBeVisible()
  })

  it('are switched to the next after signing out of the one in use', async () => {
    await renderSettings(DAY, NIGHT)
    fireEvent.press(screen.getByLabelText('Sign out'))
    expect(await screen.findByLabelText('day.example, in use')).toBeVisible()
    expect(revoked).toEqual([`this-phone at ${NIGHT.url}`])
  })
})
