import { createClient, OncueError } from '@oncue/sdk'
import { createTestClient, type TestAnswers } from '@oncue/sdk/testing'
import { fireEvent, renderRouter, screen, waitFor } from 'expo-router/testing-library'
import * as SecureStore from 'expo-secure-store'
import type { Me } from '../../lib/probe.ts'
import { Session, SessionContext } from '../../lib/session.ts'
import { healthOf } from '../../testing/health.ts'
import { offline } from '../../testing/render-app.tsx'

jest.mock('expo-secure-store', () => {
  const kept = new Map<string, string>()
  return {
    getItemAsync: async (name: string) => kept.get(name) ?? null,
    setItemAsync: async (name: string, value: string) => void kept.set(name, value),
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

/** What each server answers beside what all do, and what was revoked where. */
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

/** A phone that is connected to these; the last one is in use. */
async function renderSettings(...servers: readonly (typeof DAY)[]) {
  const session = new Session()
  for (const { url } of servers) expect(await session.signIn(url, 'secret')).toMatchObject({ ok: true })
  renderRouter('./src/app', {
    initialUrl: '/settings',
    wrapper: ({ children }) => <SessionContext.Provider value={session}>{children}</SessionContext.Provider>,
  })
  await screen.findByText('Pixel')
  return session
}

const STILL_LISTED =
  'Signed out here. night.example could not be told: a paired device is still listed there, until it is revoked.'

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

  it('happens without the server too, and says that it lists the device still', async () => {
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

  it('leaves a token that was typed in as it is: others may use it', async () => {
    answers[NIGHT.url] = { 'tokens.me': () => ({ ...DEVICE, kind: 'token' }) }
    await renderSettings(NIGHT)
    fireEvent.press(screen.getByLabelText('Sign out'))
    expect(await screen.findByText('Connect to Oncue')).toBeVisible()
    expect(revoked).toEqual([])
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

  it('are left one by one: the others go on', async () => {
    await renderSettings(DAY, NIGHT)
    fireEvent.press(screen.getByLabelText('day.example'))
    fireEvent.press(await screen.findByLabelText('Remove from this phone'))
    await waitFor(() => expect(screen.queryByLabelText('day.example')).toBeNull())
    expect(revoked).toEqual([`this-phone at ${DAY.url}`])
    expect(await SecureStore.getItemAsync(DAY.token)).toBeNull()
    expect(await SecureStore.getItemAsync(NIGHT.token)).toBe('secret')
    expect(screen.getByLabelText('night.example, in use')).toBeVisible()
  })

  it('open the next when the one in use is left', async () => {
    await renderSettings(DAY, NIGHT)
    fireEvent.press(screen.getByLabelText('Sign out'))
    expect(await screen.findByLabelText('day.example, in use')).toBeVisible()
    expect(revoked).toEqual([`this-phone at ${NIGHT.url}`])
  })
})
