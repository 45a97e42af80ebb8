import { randomUUID } from 'node:crypto'
import { DEFAULT_ALERT_RULES } from '@oncue/core/wire'
import { describe, expect, it } from 'vitest'
import type { NewAlertRule } from '../../src/control/alerts.ts'
import type { Control } from '../../src/control/index.ts'
import type { AlertEpisode, AlertRow } from '../../src/portable/alerts.ts'
import type { Store } from '../../src/store.ts'
import { aJob, Bench, claimOne, complete, type Dialect, MINUTE } from './harness.ts'

const DAY = 24 * 60 * MINUTE

const aRule = (changes: Partial<NewAlertRule> = {}): NewAlertRule => ({
  name: 'mail is late',
  kind: 'oldest_waiting',
  queue: 'mail',
  threshold: 300,
  forMs: MINUTE,
  enabled: true,
  ...changes,
})

type Both = { readonly store: Store; readonly control: Control }

export function describeAlerts(dialect: Dialect): void {
  describe('alert rules', () => {
    const bench = new Bench(dialect)

    it('begin with one of each kind, created once by the first process', async () => {
      const controls = await Promise.all([bench.openControl(), bench.openControl()])
      await Promise.all(controls.map(({ alertRules }) => alertRules.addDefaults()))
      await controls[0].alertRules.addDefaults()
      const rules = await controls[1].alertRules.list()
      expect(rules.map(({ builtIn }) => builtIn)).toEqual(Object.keys(DEFAULT_ALERT_RULES))
      expect(rules[0]).toEqual({
        id: expect.any(String),
        name: 'Jobs wait too long',
        kind: 'oldest_waiting',
        queue: null,
        topic: null,
        threshold: 300,
        forMs: MINUTE,
        enabled: true,
        builtIn: 'oldest_waiting',
        created: bench.clock.now(),
        updated: bench.clock.now(),
        updatedBy: null,
      })
    })

    it('are made, changed and deleted', async () => {
      const control = await bench.openControl()
      const rule = await control.alertRules.create(aRule({ threshold: 0.5, enabled: false }), 'Ada')
      expect(rule).toMatchObject({ threshold: 0.5, enabled: false, builtIn: null, updatedBy: 'Ada' })
      const updated = bench.clock.advance(MINUTE)
      const change = { name: 'late', threshold: 600, forMs: 0, enabled: true }
      const changed = await control.alertRules.update(rule.id, change, 'Bob')
      expect(changed).toEqual({ ...rule, ...change, updated, updatedBy: 'Bob' })
      expect(await control.alertRules.update(rule.id, { enabled: false }, 'Bob')).toMatchObject({
        name: 'late',
      })
      await control.alertRules.delete(rule.id)
      expect(await control.alertRules.list()).toEqual([])
    })

    it('keep both changes when two people edit at the same time', async () => {
      const control = await bench.openControl()
      const { id } = await control.alertRules.create(aRule())
      await Promise.all([
        control.alertRules.update(id, { threshold: 60 }, 'Ada'),
        control.alertRules.update(id, { enabled: false }, 'Bob'),
      ])
      expect(await control.alertRules.list()).toMatchObject([{ threshold: 60, enabled: false }])
    })

    it('that Oncue created are disabled instead of deleted, and keep their changes', async () => {
      const control = await bench.openControl()
      await control.alertRules.addDefaults()
      const [rule] = await control.alertRules.list()
      await control.alertRules.update(rule?.id ?? '', { threshold: 60 }, 'Ada')
      await control.alertRules.delete(rule?.id ?? '', 'Bob')
      await control.alertRules.addDefaults()
      const [after, ...others] = await control.alertRules.list()
      expect(after).toMatchObject({ id: rule?.id, threshold: 60, enabled: false, updatedBy: 'Bob' })
      expect(others).toHaveLength(4)
    })

    it.each([
      ['a threshold below 0', { threshold: -1 }, 'INVALID_INPUT'],
      ['a threshold that is no number', { threshold: Number.NaN }, 'INVALID_INPUT'],
      ['a share above 1', { kind: 'failure_rate', threshold: 10 }, 'INVALID_INPUT'],
      ['a kind that does not exist', { kind: 'x' }, 'INVALID_INPUT'],
      ['an invalid queue name', { queue: 'a b' }, 'INVALID_QUEUE'],
      ['half a millisecond', { forMs: 0.5 }, 'INVALID_INPUT'],
      ['a name with a NUL', { name: 'a\0b' }, 'INVALID_TEXT'],
    ])('are refused with %s', async (_, changes, code) => {
      const control = await bench.openControl()
      const rule = aRule(changes as Partial<NewAlertRule>)
      await expect(control.alertRules.create(rule)).rejects.toMatchObject({ code })
      expect(await control.alertRules.list()).toEqual([])
    })

    it('are refused a change that does not fit their kind, and an unknown id is not found', async () => {
      const control = await bench.openControl()
      const rule = await control.alertRules.create(aRule({ kind: 'failure_rate', threshold: 0.1 }))
      const wrong = control.alertRules.update(rule.id, { threshold: 10 })
      await expect(wrong).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      expect(await control.alertRules.list()).toEqual([rule])
      for (const id of [randomUUID(), "' or 1 = 1 --"]) {
        const code = 'ALERT_RULE_NOT_FOUND'
        await expect(control.alertRules.update(id, {})).rejects.toMatchObject({ code })
        await expect(control.alertRules.delete(id)).rejects.toMatchObject({ code })
      }
    })
  })

  describe('alerts', () => {
    const bench = new Bench(dialect)
    const now = () => bench.clock.now()

    const anEpisode = (changes: Partial<AlertEpisode> = {}): AlertEpisode => ({
      ruleId: randomUUID(),
      kind: 'oldest_waiting',
      queue: 'mail',
      topic: null,
      fingerprint: null,
      groupId: null,
      status: 'firing',
      value: 720.5,
      threshold: 300,
      summary: 'mail: oldest job waits 12 min (limit 5 min)',
      heldFor: ['mail'],
      since: now(),
      firedAt: changes.status === 'pending' ? null : now(),
      calmSince: null,
      resolvedAt: null,
      transitions: changes.status === 'pending' ? 0 : 1,
      ...changes,
    })

    /** Begins them one after the other, and returns them in that order. */
    async function begin({ store, control }: Both, ...changes: Partial<AlertEpisode>[]): Promise<AlertRow[]> {
      const begun = changes.map(anEpisode)
      await store.alerts.record(
        now(),
        begun.map((after) => ({ before: null, after })),
      )
      const rows = await control.alerts.episodes()
      return begun.flatMap(({ ruleId }) => rows.filter((row) => row.ruleId === ruleId))
    }

    async function aFiring(both: Both): Promise<AlertRow> {
      const [alert] = await begin(both, {})
      if (!alert) throw new Error('it did not begin')
      return alert
    }

    async function resolve(store: Store, alert: AlertRow): Promise<void> {
      const after = { ...alert, status: 'resolved' as const, resolvedAt: now(), transitions: 2 }
      await store.alerts.record(now(), [{ before: alert, after }])
    }

    it('are stored as they were found, and read back the same', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const episode = anEpisode()
      await store.alerts.record(now(), [{ before: null, after: episode }])
      const { items } = await control.alerts.list()
      expect(items).toEqual([
        {
          ...{ ...episode, id: expect.any(String), acked: null, snoozed: null },
          ...{ notified: 0, lookedAt: now(), updated: now() },
        },
      ])
      expect(await control.alerts.get(items[0]?.id ?? '')).toEqual(items[0])
    })

    it('about the whole system belong to no queue', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const [alert] = await begin({ store, control }, { queue: null, kind: 'no_workers' })
      expect(alert?.queue).toBeNull()
    })

    it('are not listed until they fire', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const [pending] = await begin({ store, control }, { status: 'pending' })
      if (!pending) throw new Error('it did not begin')
      expect(await control.alerts.list()).toEqual({ items: [], nextCursor: null })
      expect(await control.alerts.counts()).toEqual({ firing: 0, acked: 0, snoozed: 0 })
      const code = 'ALERT_NOT_FOUND'
      await expect(control.alerts.get(pending.id)).rejects.toMatchObject({ code })
      await expect(control.alerts.ack(pending.id, 'Ada')).rejects.toMatchObject({ code })
    })

    it('begin once per rule, whichever queue they name and however many evaluators find it at once', async () => {
      const stores = await Promise.all([bench.openWithClock(), bench.openWithClock()])
      const { ruleId } = anEpisode()
      await Promise.all(
        Array.from({ length: 10 }, (_, n) => {
          const after = anEpisode({ ruleId, queue: `q${n}` })
          return (stores[n % 2] ?? stores[0]).alerts.record(now(), [{ before: null, after }])
        }),
      )
      const control = await bench.openControl(stores[0])
      expect(await control.alerts.episodes()).toHaveLength(1)
    })

    it('continue under the name of another queue', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const alert = await aFiring({ store, control })
      await store.alerts.record(now(), [{ before: alert, after: { ...alert, queue: 'media' } }])
      expect(await control.alerts.get(alert.id)).toMatchObject({ queue: 'media', transitions: 1 })
      expect((await control.alerts.list({ queue: 'mail' })).items).toEqual([])
    })

    it('begin again once the last one is resolved', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const alert = await aFiring({ store, control })
      await resolve(store, alert)
      await begin({ store, control }, { ruleId: alert.ruleId })
      expect((await control.alerts.list()).items).toHaveLength(2)
    })

    it('are not updated from a stale read when another evaluation came in between', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const alert = await aFiring({ store, control })
      bench.clock.advance(5_000)
      await store.alerts.record(now(), [])
      expect(await control.alerts.get(alert.id)).toMatchObject({ lookedAt: now(), updated: alert.updated })
      await resolve(store, alert)
      expect(await control.alerts.get(alert.id)).toMatchObject({ status: 'firing', transitions: 1 })
      await resolve(store, await control.alerts.get(alert.id))
      expect(await control.alerts.get(alert.id)).toMatchObject({ status: 'resolved', transitions: 2 })
    })

    it('keep the latest evaluation time: an older one does not change it, a clock that is set back does', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const { id, lookedAt } = await aFiring({ store, control })
      const last = bench.clock.advance(MINUTE)
      await store.alerts.record(last, [])
      await store.alerts.record(new Date(lookedAt.getTime() + 1), [])
      expect(await control.alerts.get(id)).toMatchObject({ lookedAt: last })
      await store.alerts.record(bench.clock.advance(-60 * MINUTE), [])
      expect(await control.alerts.get(id)).toMatchObject({ lookedAt: now() })
    })

    it('are deleted while pending, but not once they have fired', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const [pending] = await begin({ store, control }, { status: 'pending' })
      const firing = await aFiring({ store, control })
      const before = [pending, firing].filter((row) => row !== undefined)
      await store.alerts.record(
        now(),
        before.map((row) => ({ before: row, after: null })),
      )
      expect(await control.alerts.episodes()).toEqual([firing])
    })

    it('keep who acked them first', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const { id } = await aFiring({ store, control })
      const at = bench.clock.advance(MINUTE)
      expect(await control.alerts.ack(id, 'Ada')).toMatchObject({ acked: { at, by: 'Ada' }, updated: at })
      bench.clock.advance(MINUTE)
      expect(await control.alerts.ack(id, 'Bob')).toMatchObject({ acked: { at, by: 'Ada' }, updated: at })
      expect(await control.alerts.counts()).toEqual({ firing: 0, acked: 1, snoozed: 0 })
      expect(await control.alerts.unack(id)).toMatchObject({ acked: null })
      expect(await control.alerts.counts()).toEqual({ firing: 1, acked: 0, snoozed: 0 })
    })

    it('are snoozed for a while; the later of a snooze and an ack counts', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const { id } = await aFiring({ store, control })
      const until = new Date(now().getTime() + MINUTE)
      await control.alerts.ack(id, 'Ada')
      const snoozed = await control.alerts.snooze(id, until, 'Bob')
      expect(snoozed).toMatchObject({ snoozed: { until, by: 'Bob' }, acked: null })
      expect(await control.alerts.counts()).toEqual({ firing: 0, acked: 0, snoozed: 1 })
      bench.clock.advance(MINUTE)
      expect(await control.alerts.counts()).toEqual({ firing: 1, acked: 0, snoozed: 0 })
      expect(await control.alerts.ack(id, 'Ada')).toMatchObject({ snoozed: null, acked: { by: 'Ada' } })
      await control.alerts.snooze(id, new Date(now().getTime() + 7 * DAY), 'Bob')
      expect(await control.alerts.unsnooze(id)).toMatchObject({ snoozed: null, acked: null })
    })

    it('are not snoozed into the past, nor for longer than a week', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const { id } = await aFiring({ store, control })
      for (const ms of [-1, 0, 7 * DAY + 1, Number.NaN]) {
        const snooze = control.alerts.snooze(id, new Date(now().getTime() + ms), 'Ada')
        await expect(snooze, String(ms)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
      }
    })

    it('keep the acks and snoozes that people set during an evaluation', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const [acked, snoozed] = await begin({ store, control }, {}, {})
      if (!acked || !snoozed) throw new Error('they did not begin')
      const first = new Date(now().getTime() + MINUTE)
      const read = await control.alerts.snooze(snoozed.id, first, 'Bob')
      bench.clock.advance(MINUTE)
      await control.alerts.ack(acked.id, 'Ada')
      const second = new Date(now().getTime() + MINUTE)
      await control.alerts.snooze(snoozed.id, second, 'Bob')
      await store.alerts.record(now(), [
        { before: acked, after: { ...acked, value: 800 } },
        { before: read, after: { ...read, transitions: 2 }, endsSnooze: true },
      ])
      expect(await control.alerts.get(acked.id)).toMatchObject({ value: 800, acked: { by: 'Ada' } })
      expect(await control.alerts.get(snoozed.id)).toMatchObject({
        snoozed: { until: second },
        transitions: 1,
      })
    })

    it('lose a snooze that has run out', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const alert = await aFiring({ store, control })
      const before = await control.alerts.snooze(alert.id, new Date(now().getTime() + 1), 'Bob')
      bench.clock.advance(1)
      await store.alerts.record(now(), [{ before, after: { ...before, transitions: 2 }, endsSnooze: true }])
      expect(await control.alerts.get(alert.id)).toMatchObject({ snoozed: null, transitions: 2 })
    })

    it('lose an ack when other queues are affected, but not one that was set since they were read', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const [first, second] = await begin({ store, control }, { heldFor: ['mail'] }, { heldFor: ['mail'] })
      if (!first || !second) throw new Error('they did not begin')
      const acked = await control.alerts.ack(first.id, 'Ada')
      const old = await control.alerts.ack(second.id, 'Ada')
      await control.alerts.unack(second.id)
      bench.clock.advance(1)
      await control.alerts.ack(second.id, 'Bob')
      const changed = { queue: 'media', heldFor: ['media'], transitions: 2 }
      await store.alerts.record(now(), [
        { before: acked, after: { ...acked, ...changed }, endsAck: true },
        { before: old, after: { ...old, ...changed }, endsAck: true },
      ])
      expect(await control.alerts.get(first.id)).toMatchObject({ acked: null, ...changed })
      expect(await control.alerts.get(second.id)).toMatchObject({ acked: { by: 'Bob' }, heldFor: ['mail'] })
    })

    it('keep the queues that were affected when they were acked', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const [read] = await begin({ store, control }, { heldFor: ['mail'] })
      if (!read) throw new Error('it did not begin')
      await control.alerts.ack(read.id, 'Ada')
      await store.alerts.record(now(), [
        { before: read, after: { ...read, queue: 'media', heldFor: ['media'] } },
      ])
      expect(await control.alerts.get(read.id)).toMatchObject({ queue: 'media', heldFor: ['mail'] })
    })

    it('cannot be acked or snoozed once they are resolved', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const alert = await aFiring({ store, control })
      await control.alerts.ack(alert.id, 'Ada')
      await resolve(store, alert)
      const resolved = await control.alerts.get(alert.id)
      const until = new Date(now().getTime() + MINUTE)
      const { alerts } = control
      for (const mark of [
        () => alerts.ack(alert.id, 'Bob'),
        () => alerts.unack(alert.id),
        () => alerts.snooze(alert.id, until, 'Bob'),
        () => alerts.unsnooze(alert.id),
      ])
        await expect(mark()).rejects.toMatchObject({ code: 'INVALID_STATE' })
      expect(await alerts.get(alert.id)).toEqual(resolved)
    })

    it.each(['get', 'unack', 'unsnooze'] as const)('%s with an unknown id is refused', async (name) => {
      const { alerts } = await bench.openControl()
      for (const id of [randomUUID(), "' or 1 = 1 --"])
        await expect(alerts[name](id)).rejects.toMatchObject({ code: 'ALERT_NOT_FOUND' })
    })

    it('are listed by state and queue, those that fired last first, page by page', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const ids: string[] = []
      for (let n = 0; n < 5; n++) {
        const [alert] = await begin({ store, control }, { queue: n % 2 ? 'media' : 'mail' })
        if (alert) ids.unshift(alert.id)
        bench.clock.advance(n % 2 ? 0 : MINUTE)
      }
      const [, last] = await control.alerts.episodes()
      if (last) await resolve(store, last)
      const found = async (filter: Parameters<Control['alerts']['list']>[0]) =>
        (await control.alerts.list(filter)).items.map(({ id }) => id)
      expect(await found({})).toEqual(ids)
      expect(await found({ queue: 'media' })).toEqual([ids[1], ids[3]])
      expect(await found({ state: 'resolved' })).toEqual([last?.id])
      expect(await found({ state: 'open' })).toEqual(ids.filter((id) => id !== last?.id))
      const first = await control.alerts.list({}, { limit: 3 })
      const rest = await control.alerts.list({}, { limit: 3, cursor: first.nextCursor ?? '' })
      expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(ids)
      expect(rest.nextCursor).toBeNull()
      const wrong = control.alerts.list({ queue: 'mail' }, { cursor: first.nextCursor ?? '' })
      await expect(wrong).rejects.toMatchObject({ code: 'INVALID_CURSOR' })
    })

    it('list what is still to be delivered, until it has been', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const alert = await aFiring({ store, control })
      expect(await control.alerts.untold()).toEqual([alert])
      await control.alerts.told(alert.id, 1)
      expect(await control.alerts.untold()).toEqual([])
      await resolve(store, alert)
      expect(await control.alerts.untold()).toMatchObject([
        { status: 'resolved', transitions: 2, notified: 1 },
      ])
      await control.alerts.told(alert.id, 1)
      expect(await control.alerts.untold()).toHaveLength(1)
      await control.alerts.told(alert.id, 2)
      expect(await control.alerts.untold()).toEqual([])
    })

    it('know whether anything finished lately, whether rolled up or not', async () => {
      const store = await bench.openWithClock()
      const start = now()
      expect(await store.alerts.wasBusy(start, null)).toBe(false)
      await store.enqueue([aJob({ queue: 'mail' }), aJob({ queue: 'oncue' })])
      await store.settle([complete(await claimOne(store, { queues: ['oncue'] }))])
      expect(await store.alerts.wasBusy(start, null)).toBe(false)
      await store.settle([complete(await claimOne(store, { queues: ['mail'] }))])
      for (const _ of ['before', 'after']) {
        expect(await store.alerts.wasBusy(start, null)).toBe(true)
        expect(await store.alerts.wasBusy(start, 'mail')).toBe(true)
        expect(await store.alerts.wasBusy(start, 'media')).toBe(false)
        expect(await store.alerts.wasBusy(new Date(start.getTime() + MINUTE), null)).toBe(false)
        await store.rollUp()
      }
    })

    it('are removed a while after they were resolved, a batch at a time', async () => {
      const store = await bench.openWithClock()
      const control = await bench.openControl(store)
      const alerts = await begin({ store, control }, {}, {}, {})
      for (const alert of alerts) await resolve(store, alert)
      await begin({ store, control }, {})
      const before = bench.clock.advance(1)
      expect(await control.alerts.prune({ before: new Date(before.getTime() - 1) })).toBe(0)
      expect(await control.alerts.prune({ before, limit: 2 })).toBe(2)
      expect(await control.alerts.prune({ before, limit: 2 })).toBe(1)
      expect((await control.alerts.list()).items).toMatchObject([{ status: 'firing' }])
    })
  })
}
