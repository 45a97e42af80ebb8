import { createHash, randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Control, NewToken } from '../../src/control/index.ts'
import type { NewAuditEntry } from '../../src/portable/audit.ts'
import type { Store } from '../../src/store.ts'
import { Bench, type Dialect, MINUTE } from './harness.ts'

const DAY = 24 * 60 * MINUTE

const hashOf = (secret: string) => createHash('sha256').update(secret).digest('hex')

function aToken(changes: Partial<NewToken> = {}): NewToken {
  return { kind: 'token', name: 'shop', role: 'producer', hash: hashOf(randomUUID()), ...changes }
}

const ada = { id: 't1', name: 'Ada', kind: 'token' }
const anEntry = (changes: Partial<NewAuditEntry> = {}): NewAuditEntry => ({
  actor: ada,
  action: 'jobs.requeue',
  ...changes,
})

export function describeAccess(dialect: Dialect): void {
  describe('tokens', () => {
    const bench = new Bench(dialect)
    const inMs = (ms: number) => new Date(bench.clock.now().getTime() + ms)
    const idOf = async (store: Store, hash: string) => (await store.tokens.find(hash))?.id

    it('finds a token by its hash', async () => {
      const { store, control } = await bench.openBoth()
      const token = aToken({
        allowedTopics: ['mail_*', 'app:report'],
        allowedQueues: ['bulk_*'],
        createdBy: 'Ada',
        expiresAt: inMs(DAY),
      })
      const created = await control.tokens.create(token)
      expect(created).toEqual({
        id: expect.any(String),
        kind: 'token',
        name: 'shop',
        role: 'producer',
        allowedTopics: ['mail_*', 'app:report'],
        allowedQueues: ['bulk_*'],
        parentId: null,
        created: bench.clock.now(),
        createdBy: 'Ada',
        expiresAt: inMs(DAY),
        idleUntil: null,
        lastUsed: null,
        revokedAt: null,
      })
      expect(await store.tokens.find(token.hash)).toEqual({ ...created, hash: token.hash })
      expect(await store.tokens.find(hashOf('another'))).toBeNull()
      expect(await store.tokens.find("' or 1 = 1 --")).toBeNull()
    })

    it('tells a token with no allowed topics from one with all topics', async () => {
      const { store, control } = await bench.openBoth()
      const [none, all] = [aToken({ allowedTopics: [] }), aToken()]
      for (const token of [none, all]) await control.tokens.create(token)
      expect(await store.tokens.find(none.hash)).toMatchObject({ allowedTopics: [] })
      expect(await store.tokens.find(all.hash)).toMatchObject({ allowedTopics: null })
    })

    it.each([
      ['a name that is empty', { name: '' }, 'INVALID_INPUT'],
      ['a name with a NUL', { name: 'a\0b' }, 'INVALID_TEXT'],
      ['an unknown role', { role: 'root' as 'admin' }, 'INVALID_INPUT'],
      ['a secret instead of its hash', { hash: 'oncue_secret' }, 'INVALID_INPUT'],
      ['a topic that cannot exist', { allowedTopics: ['a b'] }, 'INVALID_INPUT'],
    ])('refuses %s', async (_, changes, code) => {
      const control = await bench.openControl()
      await expect(control.tokens.create(aToken(changes))).rejects.toMatchObject({ code })
      expect(await control.tokens.list({ ended: true })).toEqual([])
    })

    it('ends a token at its expiry', async () => {
      const { store, control } = await bench.openBoth()
      const token = aToken({ expiresAt: inMs(MINUTE) })
      const { id } = await control.tokens.create(token)
      bench.clock.advance(MINUTE - 1)
      expect(await idOf(store, token.hash)).toBe(id)
      bench.clock.advance(1)
      expect(await store.tokens.find(token.hash)).toBeNull()
      expect(await store.tokens.usable([id])).toEqual(new Set())
    })

    it('revokes a token permanently', async () => {
      const { store, control } = await bench.openBoth()
      const [token, other] = [aToken(), aToken()]
      const { id } = await control.tokens.create(token)
      const { id: otherId } = await control.tokens.create(other)
      const revokedAt = bench.clock.now()
      await store.tokens.revoke(id)
      bench.clock.advance(MINUTE)
      await store.tokens.revoke(id)
      expect(await store.tokens.find(token.hash)).toBeNull()
      expect(await store.tokens.usable([id, otherId, 'no id'])).toEqual(new Set([otherId]))
      expect(await control.tokens.list()).toMatchObject([{ id: otherId }])
      expect(await control.tokens.list({ ended: true })).toContainEqual(
        expect.objectContaining({ id, revokedAt }),
      )
    })

    it('can be renamed', async () => {
      const { store, control } = await bench.openBoth()
      const token = aToken()
      const { id } = await control.tokens.create(token)
      await control.tokens.rename(id, 'phone')
      expect(await store.tokens.find(token.hash)).toMatchObject({ id, name: 'phone' })
      expect(await control.tokens.get(id)).toMatchObject({ id, name: 'phone' })
      await expect(control.tokens.rename(id, '')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      await expect(control.tokens.rename(id, 'a\0b')).rejects.toMatchObject({ code: 'INVALID_TEXT' })
    })

    it.each([randomUUID(), 'no id', "' or 1 = 1 --"])('says that there is no token %s', async (id) => {
      const { store, control } = await bench.openBoth()
      expect(await control.tokens.get(id)).toBeNull()
      await expect(control.tokens.rename(id, 'phone')).rejects.toMatchObject({ code: 'TOKEN_NOT_FOUND' })
      await expect(store.tokens.revoke(id)).rejects.toMatchObject({ code: 'TOKEN_NOT_FOUND' })
    })

    describe('a session', () => {
      async function signIn(control: Control, changes: Partial<NewToken> = {}) {
        const token = aToken(changes)
        const { id: parentId } = await control.tokens.create(token)
        const session = aToken({ kind: 'session', parentId, expiresAt: inMs(DAY) })
        const { id } = await control.tokens.create(session)
        return { parentId, id, hash: session.hash }
      }

      it('ends with the token it was made from', async () => {
        const { store, control } = await bench.openBoth()
        const { id, parentId, hash } = await signIn(control)
        expect(await idOf(store, hash)).toBe(id)
        await store.tokens.revoke(parentId)
        expect(await store.tokens.find(hash)).toBeNull()
        expect(await store.tokens.usable([id])).toEqual(new Set())
        expect(await control.tokens.list({ kind: 'session', ended: true })).toMatchObject([
          { id, revokedAt: bench.clock.now() },
        ])
      })

      it('ends when that token expires', async () => {
        const { store, control } = await bench.openBoth()
        const { hash } = await signIn(control, { expiresAt: inMs(MINUTE) })
        bench.clock.advance(MINUTE)
        expect(await store.tokens.find(hash)).toBeNull()
      })

      it('cannot outlive a token that was revoked while it was made', async () => {
        const { store, control } = await bench.openBoth()
        const { id: parentId } = await control.tokens.create(aToken())
        await store.tokens.revoke(parentId)
        const session = aToken({ kind: 'session', parentId })
        await control.tokens.create(session)
        expect(await store.tokens.find(session.hash)).toBeNull()
      })

      it('ends alone when only it is revoked', async () => {
        const { store, control } = await bench.openBoth()
        const { id, parentId, hash } = await signIn(control)
        await store.tokens.revoke(id)
        expect(await store.tokens.find(hash)).toBeNull()
        expect(await store.tokens.usable([parentId])).toEqual(new Set([parentId]))
      })

      it('is removed a month after it ended', async () => {
        const control = await bench.openControl()
        const { id } = await signIn(control)
        bench.clock.advance(31 * DAY)
        expect(await control.tokens.list({ kind: 'session', ended: true })).toMatchObject([{ id }])
        bench.clock.advance(1)
        const next = await signIn(control)
        expect(await control.tokens.list({ kind: 'session', ended: true })).toMatchObject([{ id: next.id }])
      })
    })

    it('lists the newest first, optionally of one kind', async () => {
      const control = await bench.openControl()
      for (const [name, kind] of [
        ['a', 'token'],
        ['b', 'device'],
        ['c', 'token'],
      ] as const) {
        await control.tokens.create(aToken({ name, kind }))
        bench.clock.advance(1)
      }
      expect((await control.tokens.list()).map(({ name }) => name)).toEqual(['c', 'b', 'a'])
      expect((await control.tokens.list({ kind: 'device' })).map(({ name }) => name)).toEqual(['b'])
    })

    it('records its last use, at most once a minute', async () => {
      const { store, control } = await bench.openBoth()
      const token = aToken()
      const { id } = await control.tokens.create(token)
      const lastUsed = async () => (await store.tokens.find(token.hash))?.lastUsed
      const first = bench.clock.now()
      await store.tokens.touch(id)
      expect(await lastUsed()).toEqual(first)
      bench.clock.advance(MINUTE - 1)
      await store.tokens.touch(id)
      expect(await lastUsed()).toEqual(first)
      bench.clock.advance(1)
      await store.tokens.touch(id)
      expect(await lastUsed()).toEqual(bench.clock.now())
    })

    describe('the first admin', () => {
      it('is made by one of many processes that start together, and never again', async () => {
        const stores = await Promise.all([1, 2, 3].map(() => bench.openWithClock()))
        const hashes = [1, 2, 3].map(() => hashOf(randomUUID()))
        const made = await Promise.all(
          stores.map((store, n) => store.tokens.createFirstAdmin(hashes[n] ?? '')),
        )
        expect(made.filter(Boolean)).toHaveLength(1)
        const [store] = stores as [Store]
        const control = await bench.openControl(store)
        const [admin] = await control.tokens.list()
        expect(admin).toMatchObject({ name: 'admin', role: 'admin', kind: 'token', expiresAt: null })
        expect(await idOf(store, hashes[made.indexOf(true)] ?? '')).toBe(admin?.id)
        await store.tokens.revoke(admin?.id ?? '')
        expect(await store.tokens.createFirstAdmin(hashOf('later'))).toBe(false)
      })

      it('has the secret that is set, however many processes start', async () => {
        const stores = await Promise.all([1, 2, 3].map(() => bench.openWithClock()))
        await Promise.all(stores.map((store) => store.tokens.setAdmin(hashOf('mine'))))
        const [store] = stores as [Store]
        const control = await bench.openControl(store)
        expect(await store.tokens.find(hashOf('mine'))).toMatchObject({ role: 'admin' })
        expect(await store.tokens.createFirstAdmin(hashOf('another'))).toBe(false)
        expect(await control.tokens.list()).toHaveLength(1)
      })

      it('has one secret: setting another one revokes the old one and its sessions', async () => {
        const { store, control } = await bench.openBoth()
        await store.tokens.createFirstAdmin(hashOf('old'))
        const parentId = await idOf(store, hashOf('old'))
        await control.tokens.create(aToken({ kind: 'session', parentId, hash: hashOf('session') }))
        await store.tokens.setAdmin(hashOf('old'))
        expect(await idOf(store, hashOf('session'))).toBeDefined()
        await store.tokens.setAdmin(hashOf('new'))
        expect(await store.tokens.find(hashOf('old'))).toBeNull()
        expect(await store.tokens.find(hashOf('session'))).toBeNull()
        expect(await store.tokens.find(hashOf('new'))).toMatchObject({ id: parentId, role: 'admin' })
      })

      it('works again after being revoked, once it is set', async () => {
        const store = await bench.openWithClock()
        await store.tokens.setAdmin(hashOf('mine'))
        await store.tokens.revoke((await idOf(store, hashOf('mine'))) ?? '')
        await store.tokens.setAdmin(hashOf('mine'))
        expect(await store.tokens.find(hashOf('mine'))).toMatchObject({ role: 'admin', revokedAt: null })
      })

      it('may be a token that exists already', async () => {
        const { store, control } = await bench.openBoth()
        await store.tokens.createFirstAdmin(hashOf('first'))
        const token = aToken({ expiresAt: inMs(MINUTE) })
        const { id } = await control.tokens.create(token)
        await store.tokens.setAdmin(token.hash)
        expect(await store.tokens.find(token.hash)).toMatchObject({ id, role: 'admin', expiresAt: null })
        expect(await store.tokens.find(hashOf('first'))).not.toBeNull()
      })
    })
  })

  describe('audit', () => {
    const bench = new Bench(dialect)

    it('records who did what to which target, and from where', async () => {
      const { store, control } = await bench.openBoth()
      const target = { ids: [randomUUID()], filter: { topic: 'mail' } }
      await store.audit.record([
        anEntry({ target, count: 312, ip: '10.0.0.7', userAgent: 'curl/8', requestId: 'r1' }),
      ])
      expect(await control.audit.list()).toEqual({
        items: [
          {
            id: expect.any(String),
            at: bench.clock.now(),
            actor: ada,
            action: 'jobs.requeue',
            target,
            count: 312,
            ip: '10.0.0.7',
            userAgent: 'curl/8',
            requestId: 'r1',
          },
        ],
        nextCursor: null,
      })
    })

    it('records an entry even when it has a bad character or an overlong text', async () => {
      const { store, control } = await bench.openBoth()
      const target = { name: 'a\0b\ud800' }
      await store.audit.record([anEntry({ target, userAgent: `x\0${'y'.repeat(1_000)}` })])
      const { items } = await control.audit.list()
      expect(items).toMatchObject([{ target, userAgent: `x\ufffd${'y'.repeat(253)}` }])
    })

    it('filters by actor, action and time', async () => {
      const { store, control } = await bench.openBoth()
      const bob = { ...ada, id: 't2', name: 'Bob' }
      const start = bench.clock.now()
      await store.audit.record([anEntry({ requestId: 'a' })])
      const later = bench.clock.advance(MINUTE)
      await store.audit.record([anEntry({ requestId: 'b', actor: bob })])
      await store.audit.record([anEntry({ requestId: 'c', action: 'queues.pause' })])
      const found = async (filter: Parameters<Control['audit']['list']>[0]) =>
        (await control.audit.list(filter)).items.map(({ requestId }) => requestId)
      expect(await found({})).toEqual(['c', 'b', 'a'])
      expect(await found({ actorId: 't2' })).toEqual(['b'])
      expect(await found({ action: 'queues.pause' })).toEqual(['c'])
      expect(await found({ action: 'jobs.*' })).toEqual(['b', 'a'])
      expect(await found({ action: 'job_.*' })).toEqual([])
      expect(await found({ actorKind: 'token' })).toEqual(['c', 'b', 'a'])
      expect(await found({ actorKind: 'device' })).toEqual([])
      expect(await found({ from: later })).toEqual(['c', 'b'])
      expect(await found({ from: start, to: later })).toEqual(['a'])
      expect(await found({ actorId: "' or 1 = 1 --" })).toEqual([])
    })

    it('is paged: no entry is repeated or skipped while more are recorded', async () => {
      const { store, control } = await bench.openBoth()
      const names = Array.from({ length: 1_203 }, (_, n) => `r${n}`)
      await store.audit.record(names.map((requestId) => anEntry({ requestId })))
      const seen: (string | null)[] = []
      let cursor: string | undefined
      do {
        const page = await control.audit.list({}, { limit: 401, cursor })
        seen.push(...page.items.map(({ requestId }) => requestId))
        cursor = page.nextCursor ?? undefined
        await store.audit.record([anEntry({ requestId: 'new' })])
      } while (cursor)
      expect(seen).toEqual(names.reverse())
    })

    it.each([
      ['a limit of 0', {}, { limit: 0 }, 'INVALID_INPUT'],
      ['a limit of 1001', {}, { limit: 1_001 }, 'INVALID_INPUT'],
      ['a cursor that is not one', {}, { cursor: 'x' }, 'INVALID_CURSOR'],
      ['an actor with a NUL', { actorId: 'a\0b' }, {}, 'INVALID_TEXT'],
    ])('refuses %s', async (_, filter, page, code) => {
      const control = await bench.openControl()
      await expect(control.audit.list(filter, page)).rejects.toMatchObject({ code })
    })

    it('refuses the cursor of another filter', async () => {
      const { store, control } = await bench.openBoth()
      await store.audit.record([anEntry(), anEntry()])
      const { nextCursor } = await control.audit.list({}, { limit: 1 })
      const page = { cursor: nextCursor ?? '' }
      await expect(control.audit.list({ actorId: 't1' }, page)).rejects.toMatchObject({
        code: 'INVALID_CURSOR',
      })
    })

    it('prunes only the actions it is told to', async () => {
      const { store, control } = await bench.openBoth()
      await store.audit.record(['a', 'b', 'c'].map((action) => anEntry({ action })))
      const before = bench.clock.advance(1)
      expect(await control.audit.prune({ before, actions: ['a', 'c', "' or 1 = 1 --"] })).toBe(2)
      expect((await control.audit.list()).items).toMatchObject([{ action: 'b' }])
    })

    it('prunes the oldest, a batch at a time', async () => {
      const { store, control } = await bench.openBoth()
      await store.audit.record(['a', 'b', 'c'].map((requestId) => anEntry({ requestId })))
      const later = bench.clock.advance(MINUTE)
      await store.audit.record([anEntry({ requestId: 'd' })])
      expect(await control.audit.prune({ before: later, limit: 2 })).toBe(2)
      expect((await control.audit.list()).items.map(({ requestId }) => requestId)).toEqual(['d', 'c'])
      expect(await control.audit.prune({ before: later, limit: 2 })).toBe(1)
      expect(await control.audit.prune({ before: later, limit: 2 })).toBe(0)
    })
  })
}
