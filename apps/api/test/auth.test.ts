import type { Role } from '@oncue/core/wire'
import { openStore, type Store } from '@oncue/db'
import { type Control, type NewToken, openControl } from '@oncue/db/control'
import { borrowPostgresDatabase, createSqliteDatabase, type TestDatabase } from '@oncue/db/testing'
import { eventually } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { createAuth } from '../src/auth/auth.ts'
import { ANONYMOUS, type Auth, type Principal } from '../src/auth/principal.ts'
import { hashSecret, newSecret } from '../src/auth/secret.ts'
import { createSettings, type LiveSettings, type SettingsChange } from '../src/auth/settings.ts'

const DATABASES = {
  Postgres: () => borrowPostgresDatabase(inject('postgresUrl')),
  SQLite: createSqliteDatabase,
}

/** The services of one API process. */
type Process = {
  readonly store: Store
  readonly control: Control
  readonly settings: LiveSettings
  readonly auth: Auth
}

const SOON_MS = 10_000

describe.each(Object.entries(DATABASES))('access on %s', (_, createDatabase) => {
  let database: TestDatabase
  let processes: Process[]
  /** How far the store's clock is ahead of ours. */
  let aheadMs: number

  beforeEach(async () => {
    database = await createDatabase()
    processes = []
    aheadMs = 0
  })
  afterEach(async () => {
    for (const { auth, store } of processes) {
      await auth.stop()
      await store.close()
    }
    await database.drop()
  })

  async function start(
    options: { environment?: SettingsChange['set']; adminToken?: string; jwt?: Principal } = {},
  ): Promise<Process> {
    const store = await openStore(database.url, { clock: () => new Date(Date.now() + aheadMs) })
    const control = await openControl(store)
    const settings = createSettings(control, options.environment)
    const { jwt, adminToken = null } = options
    const auth = createAuth({ store, settings, adminToken, verifyJwt: jwt ? async () => jwt : null })
    const process = { store, control, settings, auth }
    processes.push(process)
    return process
  }

  async function aToken(control: Control, changes: Partial<NewToken> = {}) {
    const secret = newSecret()
    const row = await control.tokens.create({
      ...{ kind: 'token', name: 'shop', role: 'producer', hash: hashSecret(secret) },
      ...changes,
    })
    return { secret, id: row.id, authorization: `Bearer ${secret}`, cookie: `oncue_session=${secret}` }
  }

  const as = (role: Role | null, changes: Partial<Principal> = {}): Principal => ({
    ...{ kind: 'token', id: 't1', name: 'shop', role, tokenId: null, expiresAt: null },
    ...{ allowedTopics: null, allowedQueues: null },
    ...changes,
  })

  describe('a caller', () => {
    it('is identified by a bearer token, whatever the case of "Bearer"', async () => {
      const { auth, control } = await start()
      const { secret, id } = await aToken(control, { allowedTopics: ['mail'] })
      for (const authorization of [`Bearer ${secret}`, `bearer ${secret}`, `BEARER   ${secret} `]) {
        expect(await auth.identify({ authorization })).toEqual({
          ...{ kind: 'token', id, tokenId: id, name: 'shop', role: 'producer' },
          ...{ allowedTopics: ['mail'], allowedQueues: null, expiresAt: null },
        })
      }
    })

    it('is anonymous without credentials', async () => {
      const { auth } = await start()
      expect(await auth.identify({})).toEqual(ANONYMOUS)
      expect(await auth.identify({ cookie: 'theme=dark; oncue_session=' })).toEqual(ANONYMOUS)
    })

    it.each([
      'Bearer',
      'Bearer ',
      'Basic YWRhOng=',
      'oncue_x',
      'Bearer a b',
      'Bearer oncue_wrong',
      'Bearer a.b.c',
    ])('is refused with the header %o', async (authorization) => {
      const { auth } = await start()
      await expect(auth.identify({ authorization })).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    })

    it('is refused with the hash instead of the secret', async () => {
      const { auth, control } = await start()
      const { secret } = await aToken(control)
      const authorization = `Bearer ${hashSecret(secret)}`
      await expect(auth.identify({ authorization })).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    })

    it('is identified by a session, and acts as the token that signed in', async () => {
      const { auth, control } = await start()
      const { id: parentId } = await aToken(control)
      const { id, cookie } = await aToken(control, { kind: 'session', parentId, role: 'viewer' })
      expect(await auth.identify({ cookie: `theme=dark; ${cookie}` })).toMatchObject({
        ...{ kind: 'session', id: parentId, tokenId: id, role: 'viewer' },
      })
    })

    it('cannot use a session as a token, nor a token as a session', async () => {
      const { auth, control } = await start()
      const token = await aToken(control)
      const session = await aToken(control, { kind: 'session', parentId: token.id })
      const refused = { code: 'UNAUTHORIZED' }
      // Also while both are cached.
      await auth.identify({ authorization: token.authorization })
      await auth.identify({ cookie: session.cookie })
      await expect(auth.identify({ authorization: session.authorization })).rejects.toMatchObject(refused)
      await expect(auth.identify({ cookie: token.cookie })).rejects.toMatchObject(refused)
    })

    it('is identified by a JWT if that is configured, as well as by tokens', async () => {
      const jwt = as('viewer', { kind: 'jwt', id: 'u1' })
      const { auth, control } = await start({ jwt })
      expect(await auth.identify({ authorization: 'Bearer eyJh.bb.cc' })).toEqual(jwt)
      for (const secret of [newSecret(), 'my.own.token']) {
        const { id } = await control.tokens.create({
          ...{ kind: 'token', name: 'shop', role: 'producer', hash: hashSecret(secret) },
        })
        const authorization = `Bearer ${secret}`
        expect(await auth.identify({ authorization })).toMatchObject({ kind: 'token', id })
      }
    })

    it('is looked up in the database once, however many requests there are', async () => {
      const { auth, store, control } = await start()
      const { authorization } = await aToken(control)
      const find = vi.spyOn(store.tokens, 'find')
      await Promise.all(Array.from({ length: 100 }, () => auth.identify({ authorization })))
      expect(find).toHaveBeenCalledOnce()
    })

    it('updates when the token was last used', async () => {
      const { auth, store, control } = await start()
      const { authorization } = await aToken(control)
      const before = await store.now()
      await auth.identify({ authorization })
      const [token] = await control.tokens.list()
      expect(token?.lastUsed?.getTime()).toBeGreaterThanOrEqual(before.getTime())
    })

    it('is refused at once in the process that revoked the token, and elsewhere within a second', async () => {
      const [here, there] = [await start(), await start()]
      const { authorization, id } = await aToken(here.control)
      for (const { auth } of [here, there]) await auth.identify({ authorization })
      await here.store.tokens.revoke(id)
      await here.auth.changed()
      await expect(here.auth.identify({ authorization })).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
      await eventually(
        () => expect(there.auth.identify({ authorization })).rejects.toMatchObject({ code: 'UNAUTHORIZED' }),
        SOON_MS,
      )
    })
  })

  describe('access', () => {
    it('is UNAUTHORIZED without a token, and FORBIDDEN with one that is not enough', async () => {
      const { auth } = await start()
      await auth.authorize(as('operator'), 'act')
      await expect(auth.authorize(ANONYMOUS, 'read')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
      await expect(auth.authorize(as('viewer'), 'act')).rejects.toMatchObject({
        code: 'FORBIDDEN',
        message: '"shop" may not do this: it needs a role that may change jobs, and its role is viewer',
      })
      await expect(auth.authorize(as(null, { kind: 'jwt' }), 'read')).rejects.toMatchObject({
        code: 'FORBIDDEN',
        message: '"shop" may not do this: it needs a role that may see jobs, and it has no role',
      })
    })

    it('follows the rules of the environment', async () => {
      const { auth } = await start({ environment: { enqueueRule: 'true', manageRule: '' } })
      await auth.authorize(ANONYMOUS, 'enqueue')
      await expect(auth.authorize(as('operator'), 'read')).rejects.toMatchObject({ code: 'FORBIDDEN' })
    })

    it('is for admins only while the API is switched off', async () => {
      const { auth } = await start({ environment: { httpEnabled: false, enqueueRule: 'true' } })
      for (const caller of [ANONYMOUS, as('producer'), as('operator')]) {
        await expect(auth.authorize(caller, 'enqueue')).rejects.toMatchObject({ code: 'HTTP_DISABLED' })
      }
      await auth.authorize(as('admin'), 'enqueue')
      await auth.authorize(as('admin'), 'admin')
    })

    it('includes the topics that both the token and the settings allow', async () => {
      const { auth } = await start({ environment: { allowedTopics: ['mail_*', 'report'] } })
      const limited = as('producer', { allowedTopics: ['mail_digest', 'other'] })
      await auth.assertTopic(limited, 'mail_digest')
      await auth.assertTopic(as('producer'), 'report')
      for (const [caller, topic] of [
        [limited, 'mail_welcome'],
        [limited, 'other'],
        [as('admin'), 'other'],
      ] as const) {
        await expect(auth.assertTopic(caller, topic)).rejects.toMatchObject({ code: 'TOPIC_NOT_ALLOWED' })
      }
    })

    it('includes the queues that both the setting and the token allow', async () => {
      const { auth } = await start({ environment: { allowedQueues: ['mail_*', 'report'] } })
      const limited = await auth.queueChecker(as('producer', { allowedQueues: ['mail_digest', 'other'] }))
      const anyone = await auth.queueChecker(as('admin'))
      limited('mail_digest')
      for (const queue of ['mail_welcome', 'report']) anyone(queue)
      for (const refused of [() => limited('mail_welcome'), () => limited('other'), () => anyone('other')])
        expect(refused).toThrow(expect.objectContaining({ code: 'QUEUE_NOT_ALLOWED' }))
    })
  })

  describe('settings', () => {
    const first = { enqueueRule: 'operator', allowedTopics: ['mail'] } as const

    it('come from run time, else from the environment, else from the defaults', async () => {
      const { settings } = await start({ environment: { ...first, allowedTopics: [...first.allowedTopics] } })
      await settings.change({ set: { enqueueRule: '' }, reset: [], by: 'Ada' })
      expect(await settings.get()).toMatchObject({
        enqueueRule: '',
        allowedTopics: ['mail'],
        manageRule: 'viewer',
      })
      expect(await settings.sources()).toMatchObject({
        enqueueRule: { from: 'runtime', updatedBy: 'Ada', updated: expect.any(Date) },
        allowedTopics: { from: 'environment', updatedBy: null },
        manageRule: { from: 'default', updated: null },
      })
      await settings.change({ set: {}, reset: ['enqueueRule'], by: 'Ada' })
      expect(await settings.get()).toMatchObject(first)
    })

    it('are seen by other processes within a second, and survive a restart', async () => {
      const [here, there] = [await start(), await start()]
      expect(await there.settings.get()).toMatchObject({ httpEnabled: true })
      await here.settings.change({ set: { httpEnabled: false, allowedTopics: [] }, reset: [], by: 'Ada' })
      const changed = { httpEnabled: false, allowedTopics: [] }
      expect(await here.settings.get()).toMatchObject(changed)
      await eventually(async () => expect(await there.settings.get()).toMatchObject(changed), SOON_MS)
      expect(await (await start()).settings.get()).toMatchObject(changed)
    })

    it('ignore invalid stored values', async () => {
      const { settings, control } = await start()
      await control.settings.change({
        set: { manageRule: 'everyone', httpEnabled: 'no', future: 1, constructor: 1 },
      })
      expect(await settings.get()).toMatchObject({ manageRule: 'viewer', httpEnabled: true })
    })
  })

  describe('the first start', () => {
    it('creates one admin token, whichever process starts first', async () => {
      const [one, two] = [await start(), await start()]
      const made = await Promise.all([one.auth.bootstrap(), two.auth.bootstrap()])
      const [adminToken, ...others] = made.flatMap((answer) => answer.adminToken ?? [])
      expect(others).toEqual([])
      expect(adminToken).toMatch(/^oncue_[\w-]{43}$/)
      expect(await two.auth.identify({ authorization: `Bearer ${adminToken}` })).toMatchObject({
        role: 'admin',
      })
      expect(await (await start()).auth.bootstrap()).toEqual({ adminToken: null })
    })

    it('stores no secret', async () => {
      const { auth, store } = await start()
      const { adminToken } = await auth.bootstrap()
      const found = await store.tokens.find(hashSecret(adminToken ?? ''))
      expect(found).not.toBeNull()
      expect(JSON.stringify(found)).not.toContain(adminToken?.slice('oncue_'.length))
    })

    it('takes the configured token, and does not show it', async () => {
      const { auth } = await start({ adminToken: 'of-my-choice' })
      expect(await auth.bootstrap()).toEqual({ adminToken: null })
      const authorization = 'Bearer of-my-choice'
      expect(await auth.identify({ authorization })).toMatchObject({ name: 'admin', role: 'admin' })
    })

    it('revokes the token that was configured before', async () => {
      await (await start({ adminToken: 'old' })).auth.bootstrap()
      const { auth } = await start({ adminToken: 'new' })
      await auth.bootstrap()
      await expect(auth.identify({ authorization: 'Bearer old' })).rejects.toMatchObject({
        code: 'UNAUTHORIZED',
      })
      expect(await auth.identify({ authorization: 'Bearer new' })).toMatchObject({ role: 'admin' })
    })
  })

  describe('a stream', () => {
    async function streaming({ auth, control }: Process, changes: Partial<NewToken> = {}) {
      const token = await aToken(control, { role: 'viewer', ...changes })
      const principal = await auth.identify({ authorization: token.authorization })
      return { ...token, principal, ...auth.whileValid(principal) }
    }
    const aborted = (signal: AbortSignal) => eventually(() => expect(signal.aborted).toBe(true), SOON_MS)

    it('ends when its token is revoked by another process, while other streams continue', async () => {
      const [here, there] = [await start(), await start()]
      const [mine, other] = [await streaming(here), await streaming(here)]
      await there.store.tokens.revoke(mine.id)
      await aborted(mine.signal)
      expect(other.signal.aborted).toBe(false)
    })

    it('ends at once when its token is revoked here', async () => {
      const here = await start()
      const { id, signal } = await streaming(here)
      await here.store.tokens.revoke(id)
      await here.auth.changed()
      expect(signal.aborted).toBe(true)
    })

    it('of a session ends when the token that signed in is revoked', async () => {
      const here = await start()
      const { id: parentId } = await aToken(here.control, { role: 'viewer' })
      const session = await aToken(here.control, { kind: 'session', role: 'viewer', parentId })
      const { signal } = here.auth.whileValid(await here.auth.identify({ cookie: session.cookie }))
      await here.store.tokens.revoke(parentId)
      await aborted(signal)
    })

    it('ends when its token expires', async () => {
      const here = await start()
      const expiresAt = new Date(Date.now() + 60_000)
      const { signal } = await streaming(here, { expiresAt })
      aheadMs = 60_000
      await aborted(signal)
    })

    it('ends when its JWT expires, and when the rule no longer lets it in', async () => {
      const here = await start()
      const jwt = (expiresAt: Date) => as('viewer', { kind: 'jwt', expiresAt })
      const over = here.auth.whileValid(jwt(new Date(Date.now() - 1)))
      const valid = here.auth.whileValid(jwt(new Date(Date.now() + 60_000)))
      await aborted(over.signal)
      expect(valid.signal.aborted).toBe(false)
      await here.settings.change({ set: { manageRule: 'operator' }, reset: [], by: 'Ada' })
      await aborted(valid.signal)
    })

    it('shares one query with all others', async () => {
      const here = await start()
      for (let n = 0; n < 20; n++) await streaming(here)
      const usable = vi.spyOn(here.store.tokens, 'usable')
      await here.auth.changed()
      expect(usable).toHaveBeenCalledOnce()
      expect(usable.mock.calls[0]?.[0]).toHaveLength(20)
    })

    it('that has ended is no longer checked', async () => {
      const here = await start()
      const { id, signal, release } = await streaming(here)
      release()
      await here.store.tokens.revoke(id)
      await here.auth.changed()
      expect(signal.aborted).toBe(false)
    })
  })
})
