import { exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, describe, expect, it } from 'vitest'
import { createJwtVerifier, looksLikeJwt } from '../src/auth/jwt.ts'
import { readConfig } from '../src/index.ts'
import { DIALECTS, errorOf, startTestApi } from './harness.ts'
import { IdentityProvider } from './identity-provider.ts'

const provider = await IdentityProvider.start()
afterAll(() => provider.close())
const stranger = await generateKeyPair('RS256')
const verify = verifier()

function verifier(changes: { roleClaim?: string; topicsClaim?: string; jwksUrl?: string } = {}) {
  const { issuer, audience } = IdentityProvider
  const claims = { roleClaim: 'role', topicsClaim: 'topics', queuesClaim: 'queues' }
  return createJwtVerifier({ jwksUrl: provider.jwksUrl, issuer, audience, ...claims, ...changes })
}

const now = () => Math.floor(Date.now() / 1_000)
const sign: IdentityProvider['sign'] = (...given) => provider.sign(...given)

describe('a JWT', () => {
  it('identifies its sender and their access', async () => {
    const exp = now() + 60
    const token = await sign({ exp, name: 'Ada', role: 'operator', topics: ['mail_*'], queues: 'bulk' })
    expect(looksLikeJwt(token)).toBe(true)
    expect(await verify(token)).toEqual({
      kind: 'jwt',
      id: 'u1',
      name: 'Ada',
      role: 'operator',
      allowedTopics: ['mail_*'],
      allowedQueues: ['bulk'],
      tokenId: null,
      expiresAt: new Date((exp + 5) * 1_000),
    })
  })

  it('needs only a subject: then it has no role, and all topics', async () => {
    expect(await verify(await sign())).toMatchObject({ name: 'u1', role: null, allowedTopics: null })
  })

  it('has a name that can be stored', async () => {
    const { name } = await verify(await sign({ name: `a\0b${'x'.repeat(1_000)}` }))
    expect(name).toBe(`a\ufffdb${'x'.repeat(252)}`)
  })

  it.each([
    ['operator', 'operator'],
    [['viewer', 'admin', 'producer'], 'admin'],
    [['engineering'], null],
    ['root', null],
    [{ admin: true }, null],
    [7, null],
  ])('with the role claim %o has the role %s', async (role, expected) => {
    expect(await verify(await sign({ role }))).toMatchObject({ role: expected })
  })

  it.each([
    [
      ['mail', 'app:*'],
      ['mail', 'app:*'],
    ],
    ['mail app:*', ['mail', 'app:*']],
    ['mail,app:*', ['mail', 'app:*']],
    [[], []],
    ['', []],
    [null, []],
    [7, []],
    [[7, 'mail'], ['mail']],
  ])('with the topics claim %o may enqueue %o', async (topics, expected) => {
    expect(await verify(await sign({ topics }))).toMatchObject({ allowedTopics: expected })
  })

  it.each([
    ['https://example.com/role', { 'https://example.com/role': 'admin' }, 'admin'],
    ['realm_access.roles', { realm_access: { roles: ['viewer'] } }, 'viewer'],
    ['realm_access.roles', { realm_access: null }, null],
    ['constructor.name', {}, null],
  ])('may have its role in the claim %s', async (roleClaim, payload, expected) => {
    expect(await verifier({ roleClaim })(await sign(payload))).toMatchObject({ role: expected })
  })
})

describe('a JWT is refused', () => {
  const refused: [string, () => Promise<string> | string, string][] = [
    ['expired', () => sign({ exp: now() - 60 }), 'expired'],
    ['not valid yet', () => sign({ nbf: now() + 60 }), 'nbf'],
    ['of another issuer', () => sign({ iss: 'https://evil.example.com/' }), 'iss'],
    ['for another audience', () => sign({ aud: 'billing' }), 'aud'],
    ['without an expiry', () => sign({ exp: undefined }), 'exp'],
    ['without a subject', () => sign({ sub: undefined }), 'sub'],
    ['with an empty subject', () => sign({ sub: '' }), 'sub'],
    ['whose subject is a number', () => sign({ sub: 7 }), 'sub'],
    ['whose subject is a list', () => sign({ sub: ['u1'] }), 'sub'],
    ['with an unknown key', () => sign({}, { kid: 'k2' }), 'not valid'],
    ['signed by a stranger', () => sign({}, {}, stranger.privateKey), 'not valid'],
    ['without a signature', () => new UnsecuredJWT(provider.claims()).encode(), 'not valid'],
    ['signed with the public key as a secret', signedWithThePublicKey, 'not valid'],
    ['whose claims were changed', changed, 'not valid'],
    ['that is malformed', () => 'eyJ.b.c', 'not valid'],
  ]

  it.each(refused)('%s', async (_, make, reason) => {
    await expect(verify(await make())).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining(reason),
    })
  })

  async function signedWithThePublicKey(): Promise<string> {
    const secret = new TextEncoder().encode(await exportSPKI(provider.keys.publicKey))
    return new SignJWT(provider.claims({ role: 'admin' }))
      .setProtectedHeader({ alg: 'HS256', kid: 'k1' })
      .sign(secret)
  }

  async function changed(): Promise<string> {
    const [header, , signature] = (await sign()).split('.')
    const payload = Buffer.from(JSON.stringify(provider.claims({ role: 'admin' }))).toString('base64url')
    return `${header}.${payload}.${signature}`
  }
})

describe('a key set', () => {
  const settings = (url: string) => ({ ...provider.env, ONCUE_JWKS_URL: url })

  it.each([
    'http://id.example.com/jwks.json',
    'http://127.0.0.1.example.com/jwks.json',
    'http://localhost.example.com/jwks.json',
    'http://localhost@id.example.com/jwks.json',
    'http://10.0.0.5/jwks.json',
    'ftp://127.0.0.1/jwks.json',
    'file:///etc/jwks.json',
    'jwks.json',
  ])('is not read from %s', (url) => {
    expect(() => readConfig(settings(url))).toThrow(`ONCUE_JWKS_URL=${url} must be an https:// URL`)
  })

  it.each(['https://id.example.com/k', 'http://127.0.0.1:8080/k', 'http://[::1]/k', 'http://localhost/k'])(
    'is read from %s',
    (url) => {
      expect(readConfig(settings(url)).jwt).toMatchObject({ jwksUrl: url })
    },
  )
})

it('an expiry beyond the range of dates becomes the last date', async () => {
  const { expiresAt } = await verify(await sign({ exp: 1e15 }))
  expect(expiresAt?.toISOString()).toBe('9999-12-31T23:59:59.999Z')
})

describe('a key set that cannot be read', () => {
  it('is reported as a server error, not as an invalid token', async () => {
    const token = await sign()
    provider.status = 500
    await expect(verifier()(token)).rejects.toMatchObject({ code: 'JWKS_UNAVAILABLE', retryable: true })
    provider.status = 200
    await expect(verifier({ jwksUrl: 'http://127.0.0.1:1/' })(token)).rejects.toMatchObject({
      code: 'JWKS_UNAVAILABLE',
    })
  })
})

describe.each(DIALECTS)('the API on %s', (dialect) => {
  it('accepts JWTs as well as its own tokens, if an issuer is configured', async () => {
    const api = await startTestApi(dialect, {
      env: { ...provider.env, ONCUE_JWT_ROLE_CLAIM: 'oncue_role' },
    })
    const producer = api.client(await sign({ name: 'Ada', oncue_role: 'producer', topics: ['mail_*'] }))
    expect(await producer.tokens.me.query()).toMatchObject({ kind: 'jwt', id: 'u1', may: ['enqueue'] })
    await producer.jobs.enqueue.mutate({ topic: 'mail_digest' })
    expect(await errorOf(producer.jobs.enqueue.mutate({ topic: 'report' }))).toMatchObject({
      code: 'TOPIC_NOT_ALLOWED',
    })
    expect(await errorOf(producer.jobs.stats.query())).toMatchObject({ code: 'FORBIDDEN' })
    const expired = api.client(await sign({ exp: now() - 60, oncue_role: 'admin' }))
    expect(await errorOf(expired.jobs.stats.query())).toMatchObject({ code: 'UNAUTHORIZED' })

    const { items } = await api.client().audit.list.query({ actorId: 'u1' })
    expect(items).toMatchObject([{ action: 'jobs.enqueue', actor: { name: 'Ada', kind: 'jwt' } }])
    const session = await api.fetch('/api/session', { token: null, json: { token: await sign() } })
    expect(session.status).toBe(401)
  })

  it('does not confuse a JWT with the device whose id it claims', async () => {
    const api = await startTestApi(dialect, { env: provider.env })
    const { code } = await api.client().pairings.create.mutate({ role: 'viewer' })
    const { device } = await api.client(null).pairings.exchange.mutate({ code, name: 'phone' })
    const viewer = api.client(await sign({ sub: device.id, role: 'viewer' }))
    expect(await errorOf(viewer.devices.revoke.mutate({ id: device.id }))).toMatchObject({
      code: 'FORBIDDEN',
    })
  })

  it('does not confuse a JWT with a token of the same name', async () => {
    const api = await startTestApi(dialect, { env: provider.env })
    await api.client(await sign({ name: 'admin', role: 'operator' })).queues.pause.mutate({ queue: 'mail' })
    expect(await api.client().queues.list.query()).toMatchObject([{ paused: { by: 'admin (JWT)' } }])
  })

  it('ends a device with the JWT that paired it', async () => {
    const api = await startTestApi(dialect, { env: provider.env })
    const exp = now() + 600
    const { code } = await api.client(await sign({ exp, role: 'admin' })).pairings.create.mutate()
    const { device, secret } = await api.client(null).pairings.exchange.mutate({ code, name: 'phone' })
    const expiresAt = new Date((exp + 5) * 1_000)
    expect(device).toMatchObject({ role: 'admin', maker: null, expiresAt })
    expect(await api.client(secret).tokens.me.query()).toMatchObject({ kind: 'device', expiresAt })
    expect(await api.control.tokens.get(device.id)).toMatchObject({ expiresAt })
  })

  it('accepts no JWT unless an issuer is configured', async () => {
    const api = await startTestApi(dialect)
    const admin = api.client(await sign({ role: 'admin' }))
    expect(await errorOf(admin.jobs.stats.query())).toMatchObject({ code: 'UNAUTHORIZED' })
  })
})
