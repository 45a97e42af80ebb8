import { createHash, randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Control, NewToken } from '../../src/control/index.ts'
import type { NewPairing } from '../../src/portable/pairings.ts'
import type { Store } from '../../src/store.ts'
import { Bench, type Dialect, MINUTE } from './harness.ts'

const newHash = () => createHash('sha256').update(randomUUID()).digest('hex')

const aPairing = (changes: Partial<NewPairing> = {}): NewPairing => ({
  role: 'operator',
  createdBy: 'Ada',
  validMs: 5 * MINUTE,
  ...changes,
})

const REFUSED = { code: 'PAIRING_REFUSED' }

export function describePairings(dialect: Dialect): void {
  describe('pairing', () => {
    const bench = new Bench(dialect)
    const exchange = (store: Store, code: string, hash = newHash()) =>
      store.pairings.exchange({ code, name: 'phone', hash })

    it('exchanges a code for a device with the role, the topics and the queues of the pairing', async () => {
      const store = await bench.openWithClock()
      const allowed = { allowedTopics: ['mail'], allowedQueues: ['bulk_*'] }
      const { id, code, expiresAt } = await store.pairings.create(aPairing(allowed))
      expect(code).toMatch(/^[2-9A-HJKMNP-Z]{3}-[2-9A-HJKMNP-Z]{3}-[2-9A-HJKMNP-Z]{3}$/)
      expect(expiresAt.getTime()).toBe(bench.clock.now().getTime() + 5 * MINUTE)
      expect(await store.pairings.deviceOf(id)).toBeNull()
      const hash = newHash()
      const device = await exchange(store, code, hash)
      expect(device).toMatchObject({ kind: 'device', name: 'phone', role: 'operator', createdBy: 'Ada' })
      expect(device).toMatchObject({ ...allowed, created: bench.clock.now(), expiresAt: null })
      expect(await store.tokens.find(hash)).toEqual({ ...device, hash })
      expect(await store.pairings.deviceOf(id)).toEqual(device)
    })

    it('accepts a code in any case and spacing', async () => {
      const store = await bench.openWithClock()
      const { code } = await store.pairings.create(aPairing())
      expect(await exchange(store, ` ${code.toLowerCase().replaceAll('-', ' ')} `)).toMatchObject({
        kind: 'device',
      })
    })

    it('gives a code to one of many that redeem it at once', async () => {
      const { store, control } = await bench.openBoth()
      const { code } = await store.pairings.create(aPairing())
      const answers = await Promise.allSettled(Array.from({ length: 10 }, () => exchange(store, code)))
      expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const answer of answers)
        if (answer.status === 'rejected') expect(answer.reason).toMatchObject(REFUSED)
      expect(await control.tokens.list({ kind: 'device' })).toHaveLength(1)
    })

    it('refuses a code that is too old', async () => {
      const store = await bench.openWithClock()
      const { code } = await store.pairings.create(aPairing())
      bench.clock.advance(5 * MINUTE)
      await expect(exchange(store, code)).rejects.toMatchObject(REFUSED)
    })

    it('refuses a code whose creator has been revoked since', async () => {
      const { store, control } = await bench.openBoth()
      const token = { kind: 'token', name: 'ada', role: 'operator', hash: newHash() } as const
      const { id: makerId } = await control.tokens.create(token)
      const { code } = await store.pairings.create(aPairing({ makerId }))
      await store.tokens.revoke(makerId)
      await expect(exchange(store, code)).rejects.toMatchObject(REFUSED)
      expect(await control.tokens.list({ kind: 'device' })).toEqual([])
    })

    it('makes a device that ends when its creator does', async () => {
      const { store, control } = await bench.openBoth()
      const expiresAt = new Date(bench.clock.now().getTime() + 60_000)
      const token = { kind: 'token', name: 'ada', role: 'operator', hash: newHash(), expiresAt } as const
      const { id: makerId } = await control.tokens.create(token)
      const { code } = await store.pairings.create(aPairing({ makerId }))
      expect(await exchange(store, code)).toMatchObject({ expiresAt })
    })

    describe('a device', () => {
      const DAY = 24 * 60 * MINUTE

      async function aToken(control: Control, changes: Partial<NewToken> = {}) {
        const hash = newHash()
        const { id } = await control.tokens.create({
          kind: 'token',
          name: 'ada',
          role: 'operator',
          hash,
          ...changes,
        })
        return { id, hash }
      }

      async function pair(store: Store, changes: Partial<NewPairing>, idleMs?: number) {
        const { code } = await store.pairings.create(aPairing(changes))
        const hash = newHash()
        const { id } = await store.pairings.exchange({ code, name: 'phone', hash, idleMs })
        return { id, hash }
      }

      it('ends with the token that made it, and so does everything that it made', async () => {
        const { store, control } = await bench.openBoth()
        const [token, other] = [await aToken(control), await aToken(control)]
        const phone = await pair(store, { makerId: token.id })
        const tablet = await pair(store, { makerId: phone.id })
        const session = await aToken(control, { kind: 'session', parentId: tablet.id })
        const kept = await pair(store, { makerId: other.id })
        expect(await control.tokens.get(tablet.id)).toMatchObject({ parentId: phone.id })

        expect(await store.tokens.revoke(token.id)).toEqual({ devices: 2 })
        for (const { hash } of [token, phone, tablet, session])
          expect(await store.tokens.find(hash)).toBeNull()
        const ids = [token, phone, tablet, session, kept].map(({ id }) => id)
        expect(await store.tokens.usable(ids)).toEqual(new Set([kept.id]))
        expect(await control.tokens.list({ kind: 'device' })).toMatchObject([{ id: kept.id }])
        expect(await control.tokens.getMany(ids)).toHaveLength(5)
        expect((await control.tokens.get(tablet.id))?.revokedAt).toEqual(bench.clock.now())
        expect(await store.tokens.revoke(token.id)).toEqual({ devices: 0 })
      })

      it('ends with the device that made it, but not with it the token that made that device', async () => {
        const { store, control } = await bench.openBoth()
        const token = await aToken(control)
        const phone = await pair(store, { makerId: token.id })
        const tablet = await pair(store, { makerId: phone.id })
        expect(await store.tokens.revoke(phone.id)).toEqual({ devices: 1 })
        expect(await store.tokens.usable([token.id, phone.id, tablet.id])).toEqual(new Set([token.id]))
      })

      it('ends when the token or device that made it expires, at any depth', async () => {
        const { store, control } = await bench.openBoth()
        const expiresAt = new Date(bench.clock.now().getTime() + MINUTE)
        const token = await aToken(control, { expiresAt })
        const phone = await pair(store, { makerId: token.id })
        const tablet = await pair(store, { makerId: phone.id })
        bench.clock.advance(MINUTE - 1)
        expect((await store.tokens.usable([phone.id, tablet.id])).size).toBe(2)
        bench.clock.advance(1)
        expect((await store.tokens.usable([phone.id, tablet.id])).size).toBe(0)
      })

      it('ends when the secret of the admin that made it changes', async () => {
        const { store, control } = await bench.openBoth()
        await store.tokens.setAdmin(newHash())
        const [admin] = await control.tokens.list()
        const phone = await pair(store, { makerId: admin?.id })
        await store.tokens.setAdmin(newHash())
        expect(await store.tokens.find(phone.hash)).toBeNull()
      })

      it('ends at the time that its creator set, and cannot be made after it', async () => {
        const { store, control } = await bench.openBoth()
        const deviceUntil = new Date(bench.clock.now().getTime() + MINUTE)
        const phone = await pair(store, { deviceUntil })
        const { code } = await store.pairings.create(aPairing({ deviceUntil }))
        expect(await control.tokens.get(phone.id)).toMatchObject({ expiresAt: deviceUntil, parentId: null })
        await store.tokens.touch(phone.id, DAY)
        bench.clock.advance(MINUTE)
        expect(await store.tokens.find(phone.hash)).toBeNull()
        await expect(exchange(store, code)).rejects.toMatchObject(REFUSED)
      })

      it('ends when it has not been used for long; each use renews it', async () => {
        const { store, control } = await bench.openBoth()
        const [used, idle] = [await pair(store, {}, 30 * DAY), await pair(store, {}, 30 * DAY)]
        const made = await pair(store, { makerId: idle.id }, 90 * DAY)
        bench.clock.advance(29 * DAY)
        await store.tokens.touch(used.id, 30 * DAY)
        bench.clock.advance(DAY)
        const ids = [used.id, idle.id, made.id]
        expect(await store.tokens.usable(ids)).toEqual(new Set([used.id]))
        expect(await control.tokens.get(used.id)).toMatchObject({
          idleUntil: new Date(bench.clock.now().getTime() + 29 * DAY),
        })
        // Too late.
        await store.tokens.touch(idle.id, 30 * DAY)
        expect(await store.tokens.find(idle.hash)).toBeNull()
        bench.clock.advance(29 * DAY)
        expect(await store.tokens.find(used.hash)).toBeNull()
      })

      it('counts the use of one of its sessions as its own', async () => {
        const { store, control } = await bench.openBoth()
        const [browser, idle] = [await pair(store, {}, 30 * DAY), await pair(store, {}, 30 * DAY)]
        const session = await aToken(control, { kind: 'session', parentId: browser.id })
        bench.clock.advance(29 * DAY)
        const lastUsed = bench.clock.now()
        await store.tokens.touch(session.id, 30 * DAY)
        bench.clock.advance(DAY)
        expect(await store.tokens.find(session.hash)).toMatchObject({ lastUsed })
        expect(await store.tokens.find(browser.hash)).toMatchObject({ lastUsed })
        expect(await store.tokens.find(idle.hash)).toBeNull()
      })
    })

    it.each(['', 'ABC-DEF-GHJ', "' or 1 = 1 --", '%'])('refuses %j, which is no code', async (code) => {
      const store = await bench.openWithClock()
      await store.pairings.create(aPairing())
      await expect(exchange(store, code)).rejects.toMatchObject(REFUSED)
    })

    it.each([
      ['a device that may enqueue and nothing else', { role: 'producer' as 'viewer' }],
      ['a time that is over', { validMs: 0 }],
      ['a topic that cannot exist', { allowedTopics: ['a b'] }],
      ['a queue that cannot exist', { allowedQueues: ['a:b'] }],
    ])('refuses to make a code for %s', async (_, changes) => {
      const store = await bench.openWithClock()
      await expect(store.pairings.create(aPairing(changes))).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    })

    it('refuses a device without a name, and keeps the code valid', async () => {
      const store = await bench.openWithClock()
      const { code } = await store.pairings.create(aPairing())
      const nameless = store.pairings.exchange({ code, name: '', hash: newHash() })
      await expect(nameless).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      expect(await exchange(store, code)).toMatchObject({ kind: 'device' })
    })
  })
}
