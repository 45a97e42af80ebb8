import { createHash, randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { NewPairing } from '../access.ts'
import type { Store } from '../store.ts'
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

    it('exchanges a code for a device with the role and the topics of the pairing', async () => {
      const store = await bench.openWithClock()
      const { id, code, expiresAt } = await store.pairings.create(aPairing({ allowedTopics: ['mail'] }))
      expect(code).toMatch(/^[2-9A-HJKMNP-Z]{3}-[2-9A-HJKMNP-Z]{3}-[2-9A-HJKMNP-Z]{3}$/)
      expect(expiresAt.getTime()).toBe(bench.clock.now().getTime() + 5 * MINUTE)
      expect(await store.pairings.deviceOf(id)).toBeNull()
      const hash = newHash()
      const device = await exchange(store, code, hash)
      expect(device).toMatchObject({ kind: 'device', name: 'phone', role: 'operator', createdBy: 'Ada' })
      expect(device).toMatchObject({ allowedTopics: ['mail'], created: bench.clock.now(), expiresAt: null })
      expect(await store.tokens.find(hash)).toEqual({ ...device, hash })
      expect(await store.pairings.deviceOf(id)).toEqual(device)
    })

    it('takes a code however it is typed', async () => {
      const store = await bench.openWithClock()
      const { code } = await store.pairings.create(aPairing())
      expect(await exchange(store, ` ${code.toLowerCase().replaceAll('-', ' ')} `)).toMatchObject({
        kind: 'device',
      })
    })

    it('gives a code to one of many who come at once', async () => {
      const store = await bench.openWithClock()
      const { code } = await store.pairings.create(aPairing())
      const answers = await Promise.allSettled(Array.from({ length: 10 }, () => exchange(store, code)))
      expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const answer of answers)
        if (answer.status === 'rejected') expect(answer.reason).toMatchObject(REFUSED)
      expect(await store.tokens.list({ kind: 'device' })).toHaveLength(1)
    })

    it('refuses a code that is too old', async () => {
      const store = await bench.openWithClock()
      const { code } = await store.pairings.create(aPairing())
      bench.clock.advance(5 * MINUTE)
      await expect(exchange(store, code)).rejects.toMatchObject(REFUSED)
    })

    it('refuses a code whose maker was revoked in between', async () => {
      const store = await bench.openWithClock()
      const token = { kind: 'token', name: 'ada', role: 'operator', hash: newHash() } as const
      const { id: makerId } = await store.tokens.create(token)
      const { code } = await store.pairings.create(aPairing({ makerId }))
      await store.tokens.revoke(makerId)
      await expect(exchange(store, code)).rejects.toMatchObject(REFUSED)
      expect(await store.tokens.list({ kind: 'device' })).toEqual([])
    })

    it('makes a device that ends when its maker does', async () => {
      const store = await bench.openWithClock()
      const expiresAt = new Date(bench.clock.now().getTime() + 60_000)
      const token = { kind: 'token', name: 'ada', role: 'operator', hash: newHash(), expiresAt } as const
      const { id: makerId } = await store.tokens.create(token)
      const { code } = await store.pairings.create(aPairing({ makerId }))
      expect(await exchange(store, code)).toMatchObject({ expiresAt })
    })

    it.each(['', 'ABC-DEF-GHJ', "' or 1 = 1 --", '%'])('refuses %j, which is no code', async (code) => {
      const store = await bench.openWithClock()
      await store.pairings.create(aPairing())
      await expect(exchange(store, code)).rejects.toMatchObject(REFUSED)
    })

    it.each([
      ['a device that may enqueue and nothing else', { role: 'producer' as 'viewer' }],
      ['a time that has passed', { validMs: 0 }],
      ['a topic that cannot exist', { allowedTopics: ['a b'] }],
    ])('refuses to make a code for %s', async (_, changes) => {
      const store = await bench.openWithClock()
      await expect(store.pairings.create(aPairing(changes))).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    })

    it('refuses a device without a name, and keeps the code', async () => {
      const store = await bench.openWithClock()
      const { code } = await store.pairings.create(aPairing())
      const nameless = store.pairings.exchange({ code, name: '', hash: newHash() })
      await expect(nameless).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      expect(await exchange(store, code)).toMatchObject({ kind: 'device' })
    })
  })
}
