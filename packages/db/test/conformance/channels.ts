import { createHash, randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { NewChannel } from '../../src/control/channels.ts'
import { type Control, openControl } from '../../src/control/index.ts'
import type { Connection } from '../../src/portable/sql.ts'
import type { Store } from '../../src/store.ts'
import { Bench, type Dialect, MINUTE } from './harness.ts'

const PUSH_TOKEN = 'ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]'

function aChannel(changes: Partial<NewChannel> = {}): NewChannel {
  return { kind: 'webhook', name: 'pager', address: 'https://pager.example/hook', ...changes }
}

async function aDevice(store: Store, name = "Ada's phone"): Promise<string> {
  const hash = createHash('sha256').update(randomUUID()).digest('hex')
  const { tokens } = await openControl(store)
  const { id } = await tokens.create({ kind: 'device', name, role: 'operator', hash })
  return id
}

export function describeChannels(dialect: Dialect): void {
  describe('channels', () => {
    const bench = new Bench(dialect)

    it('keeps where alerts are sent', async () => {
      const control = await bench.openControl()
      const created = await control.channels.create(aChannel({ secret: 'whsec_1', createdBy: 'Ada' }))
      expect(created).toEqual({
        id: expect.any(String),
        ...{ kind: 'webhook', name: 'pager', address: 'https://pager.example/hook', secret: 'whsec_1' },
        ...{ options: null, tokenId: null, enabled: true, created: bench.clock.now(), createdBy: 'Ada' },
        ...{ lastAttempt: null, lastDelivered: null, lastError: null, failingSince: null },
      })
      bench.clock.advance(MINUTE)
      const slack = await control.channels.create(aChannel({ kind: 'slack', name: 'team' }))
      expect(await control.channels.list()).toEqual([created, slack])
      expect(await control.channels.get(slack.id)).toEqual(slack)
    })

    it('lists the channels that admins made before those of devices, of which there may be many', async () => {
      const store = await bench.open()
      const control = await bench.openControl(store)
      await store.channels.setPush(await aDevice(store), PUSH_TOKEN)
      await control.channels.create(aChannel())
      expect((await control.channels.list()).map(({ kind }) => kind)).toEqual(['webhook', 'push'])
    })

    it.each([
      ['a name that is empty', { name: '' }, 'INVALID_INPUT'],
      ['a name with a NUL', { name: 'a\0b' }, 'INVALID_TEXT'],
      ['an unknown kind', { kind: 'pigeon' as 'slack' }, 'INVALID_INPUT'],
      ['an address that is too long', { address: `https://x/${'x'.repeat(2_000)}` }, 'INVALID_INPUT'],
    ])('refuses %s', async (_, changes, code) => {
      const control = await bench.openControl()
      await expect(control.channels.create(aChannel(changes))).rejects.toMatchObject({ code })
      expect(await control.channels.list()).toEqual([])
    })

    it('is renamed, switched off and on, and removed', async () => {
      const control = await bench.openControl()
      const { id } = await control.channels.create(aChannel())
      expect(await control.channels.update(id, { name: 'the pager' })).toMatchObject({ name: 'the pager' })
      expect(await control.channels.update(id, { enabled: false })).toMatchObject({ enabled: false })
      expect(await control.channels.update(id, {})).toMatchObject({ name: 'the pager', enabled: false })
      expect(await control.channels.update(id, { enabled: true })).toMatchObject({ enabled: true })
      await control.channels.remove(id)
      expect(await control.channels.get(id)).toBeNull()
    })

    it.each([randomUUID(), 'no id', "' or 1 = 1 --"])('says that there is no channel %s', async (id) => {
      const control = await bench.openControl()
      const refusal = { code: 'CHANNEL_NOT_FOUND' }
      await expect(control.channels.update(id, { name: 'x' })).rejects.toMatchObject(refusal)
      await expect(control.channels.remove(id)).rejects.toMatchObject(refusal)
      expect(await control.channels.get(id)).toBeNull()
      await control.channels.record(id, { error: null })
    })

    it('says since when deliveries fail', async () => {
      const control = await bench.openControl()
      const { id } = await control.channels.create(aChannel())
      const first = bench.clock.now()
      await control.channels.record(id, { error: 'answered 500' })
      const second = bench.clock.advance(MINUTE)
      await control.channels.record(id, { error: `answered 503 \0 ${'x'.repeat(5_000)}` })
      expect(await control.channels.get(id)).toMatchObject({
        ...{ lastAttempt: second, lastDelivered: null, failingSince: first, enabled: true },
        lastError: expect.stringMatching(/^answered 503 \ufffd x+$/),
      })
      const third = bench.clock.advance(MINUTE)
      await control.channels.record(id, { error: null })
      expect(await control.channels.get(id)).toMatchObject({
        ...{ lastAttempt: third, lastDelivered: third, failingSince: null, lastError: null },
      })
      const fourth = bench.clock.advance(MINUTE)
      await control.channels.record(id, { error: 'answered 410', disable: true })
      expect(await control.channels.get(id)).toMatchObject({
        ...{ lastAttempt: fourth, lastDelivered: third, failingSince: fourth, enabled: false },
      })
    })

    describe('the channel of a device', () => {
      const addresses = async (control: Control) =>
        (await control.channels.list()).map(({ tokenId, address }) => [tokenId, address])

      it('has the name of the device', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        const device = await aDevice(store)
        await store.channels.setPush(device, PUSH_TOKEN)
        const push = { kind: 'push', address: PUSH_TOKEN, tokenId: device, enabled: true, secret: null }
        expect(await control.channels.list()).toMatchObject([{ ...push, name: "Ada's phone" }])
        await control.tokens.rename(device, 'the old phone')
        expect(await control.channels.list()).toMatchObject([{ ...push, name: 'the old phone' }])
      })

      it('is a single one, whatever the transport', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        const device = await aDevice(store)
        await store.channels.setPush(device, PUSH_TOKEN)
        const [{ id } = { id: '' }] = await control.channels.list()
        await control.channels.record(id, { error: 'no receipt' })
        await store.channels.setPush(device, PUSH_TOKEN)
        expect(await control.channels.get(id)).toMatchObject({ lastError: 'no receipt' })
        await store.channels.setPush(device, 'ExponentPushToken[new]')
        expect(await addresses(control)).toEqual([[device, 'ExponentPushToken[new]']])
        expect(await control.channels.get(id)).toMatchObject({ lastError: null, failingSince: null })
      })

      it('stays switched off when the app starts again', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        const device = await aDevice(store)
        await store.channels.setPush(device, PUSH_TOKEN)
        const [{ id } = { id: '' }] = await control.channels.list()
        await control.channels.update(id, { enabled: false })
        await store.channels.setPush(device, PUSH_TOKEN)
        expect(await control.channels.get(id)).toMatchObject({ enabled: false })
      })

      it('moves to the new device when a phone is paired again', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        const [before, after] = [await aDevice(store), await aDevice(store)]
        await store.channels.setPush(before, PUSH_TOKEN)
        await store.channels.setPush(after, PUSH_TOKEN)
        expect(await addresses(control)).toEqual([[after, PUSH_TOKEN]])
      })

      it('ends with the device', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        const device = await aDevice(store)
        await store.channels.setPush(device, PUSH_TOKEN)
        const [{ id } = { id: '' }] = await control.channels.list()
        await store.tokens.revoke(device)
        expect(await control.channels.list()).toEqual([])
        expect(await control.channels.get(id)).toBeNull()
        await expect(store.channels.setPush(device, PUSH_TOKEN)).rejects.toMatchObject({
          code: 'TOKEN_NOT_FOUND',
        })
      })

      it('is removed by the device itself, or when its address is dead', async () => {
        const store = await bench.openWithClock()
        const control = await bench.openControl(store)
        const [one, two] = [await aDevice(store), await aDevice(store)]
        await store.channels.setPush(one, PUSH_TOKEN)
        await store.channels.setPush(two, 'ExponentPushToken[two]')
        await store.channels.setPush(one, null)
        await control.channels.dropPush(PUSH_TOKEN)
        expect(await addresses(control)).toEqual([[two, 'ExponentPushToken[two]']])
        await control.channels.dropPush('ExponentPushToken[two]')
        expect(await control.channels.list()).toEqual([])
      })

      it('of a session goes with the session', async () => {
        const { store, control } = await bench.openBoth()
        const signIn = (hash: string, expiresAt = new Date(bench.clock.now().getTime() + MINUTE)) =>
          control.tokens.create({ kind: 'session', name: 'browser', role: 'viewer', hash, expiresAt })
        const subscribe = (id: string, endpoint: string) =>
          store.channels.setWebPush(id, {
            endpoint,
            keys: { p256dh: 'p'.repeat(87), auth: 'a'.repeat(22) },
          })
        const stored = async () => {
          const { connection } = store as unknown as { connection: Connection }
          // The connection writes the name of the schema in place of the default.
          const name = connection.dialect === 'postgres' ? 'oncue.channels' : 'oncue_channels'
          const { rows } = await connection.send({ text: `select count(*) from ${name}`, values: [] })
          return Number(rows[0]?.[0])
        }
        const first = await signIn('1'.repeat(64))
        await subscribe(first.id, 'https://push.example/1')
        bench.clock.advance(2 * MINUTE)
        // Another browser that is told something: what has expired is dropped with it.
        const second = await signIn('2'.repeat(64))
        await subscribe(second.id, 'https://push.example/2')
        expect(await stored()).toBe(1)
        // And with the session itself, a month later.
        bench.clock.advance(32 * 24 * 60 * MINUTE)
        await signIn('3'.repeat(64))
        expect(await stored()).toBe(0)
      })

      it('is only for a device that there is', async () => {
        const { store, control } = await bench.openBoth()
        const hash = createHash('sha256').update('no device').digest('hex')
        const token = await control.tokens.create({ kind: 'token', name: 'shop', role: 'admin', hash })
        for (const id of [token.id, randomUUID(), 'no id'])
          await expect(store.channels.setPush(id, PUSH_TOKEN)).rejects.toMatchObject({
            code: 'TOKEN_NOT_FOUND',
          })
        await store.channels.setPush('no id', null)
        expect(await control.channels.list()).toEqual([])
      })
    })
  })
}
