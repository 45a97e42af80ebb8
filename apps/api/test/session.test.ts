import { describe, expect, it, vi } from 'vitest'
import { DIALECTS, startTestApi, type TestApi } from './harness.ts'

describe.each(DIALECTS)('sessions on %s', (dialect) => {
  /** Signs in as the app's page does. */
  const signIn = (api: TestApi, token: string, headers: Record<string, string> = {}) =>
    api.fetch('/api/session', { token: null, json: { token }, headers: { origin: api.url, ...headers } })

  const cookieOf = (response: Response) => response.headers.get('set-cookie')?.split(';')[0] ?? ''

  async function signedIn(api: TestApi, token: string) {
    const cookie = cookieOf(await signIn(api, token))
    return (path: string, init: RequestInit = {}) =>
      api.fetch(path, { ...init, token: null, headers: { cookie, origin: api.url, ...init.headers } })
  }

  const codeOf = async (response: Response) =>
    ((await response.json()) as { error: { code: string } }).error.code

  it('turn a token into a cookie that no script can read and no other site can send', async () => {
    const api = await startTestApi(dialect)
    const response = await signIn(api, await api.tokenFor('viewer'))
    expect(response.status).toBe(201)
    expect(await response.json()).toMatchObject({
      name: 'viewer',
      role: 'viewer',
      expires_at: expect.any(String),
    })
    expect(response.headers.get('set-cookie')).toMatch(
      /^oncue_session=oncue_[\w-]{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/,
    )
  })

  it('carry a Secure cookie behind a proxy that speaks https', async () => {
    const api = await startTestApi(dialect, { env: { ONCUE_TRUST_PROXY: 'true' } })
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'jobs.example.com' }
    const origin = 'https://jobs.example.com'
    const response = await signIn(api, await api.tokenFor('viewer'), { ...forwarded, origin })
    expect(response.headers.get('set-cookie')).toMatch(/^__Host-oncue_session=.*; Path=\/;.*; Secure$/)
  })

  it('carry a Secure cookie if the public URL has https, whatever the proxy says', async () => {
    const origin = 'https://jobs.example.com'
    const api = await startTestApi(dialect, { env: { ONCUE_PUBLIC_URL: `${origin}/` } })
    const response = await signIn(api, await api.tokenFor('operator'), { origin })
    expect(response.headers.get('set-cookie')).toMatch(/^__Host-oncue_session=.*; Secure$/)
    const secret = cookieOf(response).split('=')[1]
    const ask = async (cookie: string) =>
      (await api.fetch('/api/jobs', { token: null, headers: { cookie } })).status
    expect(await ask(`__Host-oncue_session=${secret}`)).toBe(200)
    // A sibling host, or a page over http, can set a cookie with this name.
    expect(await ask(`oncue_session=${secret}`)).toBe(401)
    const out = await api.fetch('/api/session', {
      ...{ method: 'DELETE', token: null, headers: { cookie: cookieOf(response), origin } },
    })
    expect(out.headers.get('set-cookie')).toMatch(/^__Host-oncue_session=; Path=\/; Max-Age=0;.*; Secure$/)
  })

  it.each([
    ['of the public URL', 'https://jobs.example.com', 'jobs.example.com', 201],
    ['the same over http', 'http://jobs.example.com', 'jobs.example.com', 403],
    ['on another port', 'https://jobs.example.com:8443', 'jobs.example.com', 403],
    ['where the request came in, over http', 'http://10.0.0.5:4400', '10.0.0.5:4400', 403],
    ['the same over https', 'https://10.0.0.5:4400', '10.0.0.5:4400', 403],
  ])('are started by pages of the same origin, with its scheme: %s', async (_, origin, host, status) => {
    const env = { ONCUE_PUBLIC_URL: 'https://jobs.example.com', ONCUE_TRUST_PROXY: 'true' }
    const api = await startTestApi(dialect, { env })
    const headers = { origin, 'x-forwarded-host': host }
    expect((await signIn(api, await api.tokenFor('viewer'), headers)).status).toBe(status)
  })

  it('are not started over http if the public URL has https: a browser would drop the cookie', async () => {
    const env = { ONCUE_PUBLIC_URL: 'https://jobs.example.com' }
    const api = await startTestApi(dialect, { env })
    const response = await signIn(api, await api.tokenFor('viewer'))
    expect(response.status).toBe(403)
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(await response.json()).toMatchObject({
      error: {
        code: 'FORBIDDEN',
        message: expect.stringContaining('browsers send the cookie only over https'),
        hint: expect.stringContaining('Open https://jobs.example.com'),
      },
    })
  })

  it('are started by pages of the requested host as well as of the public URL', async () => {
    for (const [publicUrl, proto] of [
      ['http://jobs.example.com', 'http'],
      ['https://jobs.example.com', 'https'],
    ] as const) {
      const env = { ONCUE_PUBLIC_URL: publicUrl, ONCUE_TRUST_PROXY: 'true' }
      const api = await startTestApi(dialect, { env })
      const forwarded = { 'x-forwarded-host': '10.0.0.5:4400', 'x-forwarded-proto': proto }
      const headers = { ...forwarded, origin: `${proto}://10.0.0.5:4400` }
      expect((await signIn(api, await api.tokenFor('viewer'), headers)).status).toBe(201)
    }
  })

  it('end the previous session at a new sign-in', async () => {
    const api = await startTestApi(dialect)
    const first = cookieOf(await signIn(api, await api.tokenFor('viewer')))
    const again = await signIn(api, await api.tokenFor('operator'), { cookie: first })
    expect(again.status).toBe(201)
    const ask = async (cookie: string) =>
      (await api.fetch('/api/jobs', { token: null, headers: { cookie } })).status
    expect(await ask(first)).toBe(401)
    expect(await ask(cookieOf(again))).toBe(200)
    expect(await api.control.tokens.list({ kind: 'session' })).toHaveLength(1)
    const { items } = await api.client().audit.list.query({ action: 'session.*' })
    expect(items.map(({ action, actor }) => [action, actor.name])).toEqual([
      ['session.end', 'viewer'],
      ['session.create', 'operator'],
      ['session.create', 'viewer'],
    ])
  })

  it('that were refused are in the audit and the log, like wrong pairing codes', async () => {
    const api = await startTestApi(dialect)
    const warn = vi.spyOn(api.services.log, 'warn')
    await signIn(api, 'oncue_wrong')
    await api.fetch('/trpc/pairings.exchange', {
      ...{ token: null, json: { json: { code: 'ABC-DEF-GHJ', name: 'phone' } } },
    })
    const { items } = await api.client().audit.list.query({})
    const anonymous = { kind: 'anonymous' }
    expect(items.slice(0, 2)).toMatchObject([
      { action: 'pairings.refused', actor: anonymous, target: { reason: 'PAIRING_REFUSED' }, count: 0 },
      { action: 'session.refused', actor: anonymous, target: { reason: 'UNAUTHORIZED' }, ip: '127.0.0.1' },
    ])
    expect(JSON.stringify(items)).not.toMatch(/oncue_wrong|ABC-DEF/)
    expect(
      warn.mock.calls.map(([fields, message]) => [(fields as { action: string }).action, message]),
    ).toEqual([
      ['session.refused', 'sign-in rejected'],
      ['pairings.refused', 'pairing code rejected'],
    ])
  })

  it('have the access of their token', async () => {
    const api = await startTestApi(dialect)
    const browser = await signedIn(api, await api.tokenFor('viewer'))
    expect((await browser('/api/jobs')).status).toBe(200)
    const enqueue = await browser('/api/jobs/enqueue', {
      method: 'POST',
      body: '{"topic":"mail"}',
      headers: { 'content-type': 'application/json' },
    })
    expect(enqueue.status).toBe(403)
    expect(await codeOf(enqueue)).toBe('FORBIDDEN')
  })

  it.each(['https://evil.example.com', 'null', 'http://127.0.0.1:1', undefined])(
    'change nothing for a page of %s',
    async (origin) => {
      const api = await startTestApi(dialect)
      const cookie = cookieOf(await signIn(api, await api.tokenFor('operator')))
      const id = await api.enqueue()
      const headers = { cookie, ...(origin && { origin }) }
      const response = await api.fetch(`/api/jobs/${id}`, { method: 'DELETE', token: null, headers })
      expect(response.status).toBe(403)
      expect(await codeOf(response)).toBe('FORBIDDEN')
      expect(await api.store.get(id)).toMatchObject({ status: 'pending' })
    },
  )

  it('cannot be started by a page of another site', async () => {
    const api = await startTestApi(dialect)
    const response = await signIn(api, await api.tokenFor('viewer'), { origin: 'https://evil.example.com' })
    expect(response.status).toBe(403)
    expect(response.headers.get('set-cookie')).toBeNull()
  })

  it.each([{}, { token: '' }, { token: 7 }, { token: 'x', more: 1 }, 'x', null])(
    'cannot be begun with %o',
    async (json) => {
      const api = await startTestApi(dialect)
      const response = await api.fetch('/api/session', { token: null, json })
      expect([response.status, await codeOf(response)]).toEqual([400, 'INVALID_INPUT'])
    },
  )

  it('cannot be guessed for long from one address', async () => {
    const api = await startTestApi(dialect)
    const statuses: number[] = []
    for (let n = 0; n < 22; n++) statuses.push((await signIn(api, `oncue_wrong${n}`)).status)
    expect(statuses.slice(0, 20)).toEqual(Array(20).fill(401))
    expect(statuses.at(-1)).toBe(429)
    const right = await signIn(api, await api.tokenFor('viewer'))
    expect(right.status).toBe(429)
    expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('cannot be created from another session', async () => {
    const api = await startTestApi(dialect)
    const secret = cookieOf(await signIn(api, await api.tokenFor('viewer'))).split('=')[1] ?? ''
    expect((await signIn(api, secret)).status).toBe(401)
  })

  it('end by signing out, and leave the token as it is', async () => {
    const api = await startTestApi(dialect)
    const token = await api.tokenFor('viewer')
    const browser = await signedIn(api, token)
    const out = await browser('/api/session', { method: 'DELETE' })
    expect(out.status).toBe(204)
    expect(out.headers.get('set-cookie')).toMatch(/^oncue_session=; Path=\/; Max-Age=0; HttpOnly/)
    expect((await browser('/api/jobs')).status).toBe(401)
    expect((await api.fetch('/api/jobs', { token })).status).toBe(200)
    expect((await browser('/api/session', { method: 'DELETE' })).status).toBe(204)
  })

  it('cannot be ended by a page of another site', async () => {
    const api = await startTestApi(dialect)
    const browser = await signedIn(api, await api.tokenFor('viewer'))
    const origin = 'https://evil.example.com'
    const response = await browser('/api/session', { method: 'DELETE', headers: { origin } })
    expect(response.status).toBe(403)
    expect(response.headers.get('set-cookie')).toBeNull()
    expect((await browser('/api/jobs')).status).toBe(200)
  })

  it('expire and are revoked with their token', async () => {
    const api = await startTestApi(dialect)
    const expiresAt = new Date(Date.now() + 3_600_000)
    const browser = await signedIn(api, await api.tokenFor('viewer', { expiresAt }))
    const admin = api.client()
    const [session] = await admin.tokens.list.query({ kind: 'session' })
    expect(session).toMatchObject({ name: 'viewer', expiresAt })
    await admin.tokens.revoke.mutate({ id: session?.parentId ?? '' })
    expect((await browser('/api/jobs')).status).toBe(401)
  })

  it('can be started over one that has ended', async () => {
    const api = await startTestApi(dialect)
    const cookie = 'oncue_session=oncue_long_gone'
    expect((await signIn(api, await api.tokenFor('viewer'), { cookie })).status).toBe(201)
  })

  it('are in the audit, under the name of the token', async () => {
    const api = await startTestApi(dialect)
    const token = await api.tokenFor('viewer')
    const browser = await signedIn(api, token)
    await browser('/api/session', { method: 'DELETE' })
    const me = await api.client(token).tokens.me.query()
    const { items } = await api.client().audit.list.query({ actorId: me.id })
    expect(items.map(({ action, actor }) => [action, actor.name])).toEqual([
      ['session.end', 'viewer'],
      ['session.create', 'viewer'],
    ])
    expect(JSON.stringify(items)).not.toContain(token)
  })
})
