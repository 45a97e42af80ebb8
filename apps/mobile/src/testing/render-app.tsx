import { OncueError, type Role } from '@oncue/sdk'
import { createTestClient, type TestAnswers } from '@oncue/sdk/testing'
import { renderRouter, screen } from 'expo-router/testing-library'
import type { ReactNode } from 'react'
import type { Me } from '../lib/probe.ts'
import { Session, SessionContext } from '../lib/session.ts'
import { healthOf } from './health.ts'

const MAY: Readonly<Record<'viewer' | 'operator' | 'admin', Me['may']>> = {
  viewer: ['read'],
  operator: ['enqueue', 'read', 'act'],
  admin: ['enqueue', 'read', 'act', 'edit', 'admin'],
}

export interface AppOptions {
  readonly role?: Exclude<Role, 'producer'>
  /** Answers of the API by procedure. `health.get` and `tokens.me` have defaults. */
  readonly answers?: TestAnswers
  readonly isSignedOut?: boolean
}

/** Renders the whole app at a path, with fixed answers instead of a server. */
export async function renderApp(
  path: string,
  { role = 'admin', answers = {}, isSignedOut }: AppOptions = {},
) {
  const session = new Session()
  const me: Me = {
    ...{ kind: 'token', id: 'token', name: 'somebody', role, expiresAt: null },
    ...{ allowedTopics: null, allowedQueues: null },
    may: MAY[role],
  }
  const client = createTestClient({
    answers: {
      'tokens.me': () => me,
      'health.get': () => healthOf(),
      'health.watch': () => watchOnce(answers['health.get']?.(undefined) ?? healthOf()),
      ...answers,
    },
  })
  const server = { id: 'test', url: 'https://oncue.test', name: 'oncue.test' }
  const signIn = () => session.state.set({ status: 'signed-in', server, client, streams: client, me })
  if (isSignedOut) session.state.set({ status: 'signed-out', why: null })
  else signIn()
  const wrapper = ({ children }: { readonly children: ReactNode }) => (
    <SessionContext.Provider value={session}>{children}</SessionContext.Provider>
  )
  const app = renderRouter('./src/app', { initialUrl: path, wrapper })
  return { app, session, screen, client, signIn }
}

/** One message; after it the stream stays open. */
async function* watchOnce<Message>(message: Message) {
  yield message
  await new Promise<never>(() => {})
}

export const offline = () => {
  throw new OncueError('NETWORK_ERROR', 'https://oncue.test cannot be reached: no reason given')
}
