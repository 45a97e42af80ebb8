import { randomUUID } from 'node:crypto'
import type { Alert } from '@oncue/core/wire'
import { type AlertEpisode, type AlertRow, openStore } from '@oncue/db'
import { openControl } from '@oncue/db/control'
import { eventually } from '@oncue/testing'
import { describe, expect, it } from 'vitest'
import { startProcess } from './api-process.ts'
import {
  createClient,
  createDatabase,
  DIALECTS,
  type Dialect,
  errorOf,
  startTestApi,
  type TestApi,
} from './harness.ts'
import { Receiver } from './receiver.ts'

const HOUR = 3_600_000

const start = (dialect: Dialect) => startTestApi(dialect, { background: false })

/** As an evaluation writes it. */
async function anAlert({ store, control }: TestApi, changes: Partial<AlertEpisode> = {}): Promise<AlertRow> {
  const now = await store.now()
  const after: AlertEpisode = {
    ...{ ruleId: crypto.randomUUID(), kind: 'oldest_waiting', queue: 'mail', status: 'firing' },
    ...{ topic: null, fingerprint: null, groupId: null },
    ...{ value: 720, threshold: 300, summary: 'mail: oldest job waits 12 min (limit 5 min)' },
    ...{ heldFor: ['mail'], since: now, firedAt: now, calmSince: null, resolvedAt: null, transitions: 1 },
    ...changes,
  }
  await store.alerts.record(now, [{ before: null, after }])
  const row = (await control.alerts.list()).items.find(({ ruleId }) => ruleId === after.ruleId)
  if (!row) throw new Error('it did not begin')
  return row
}

async function resolve({ store }: TestApi, before: AlertRow): Promise<void> {
  const now = await store.now()
  await store.alerts.record(now, [{ before, after: { ...before, status: 'resolved', resolvedAt: now } }])
}

describe.each(DIALECTS)('alerts over the API on %s', (dialect) => {
  it('are returned one by one and as a list, by state', async () => {
    const api = await start(dialect)
    const { id, ruleId, firedAt, updated } = await anAlert(api)
    const alert = await api.client().alerts.get.query({ id })
    expect(alert).toEqual({
      ...{ id, ruleId, kind: 'oldest_waiting', queue: 'mail', state: 'firing', value: 720, threshold: 300 },
      ...{ summary: 'mail: oldest job waits 12 min (limit 5 min)', firedAt, updated },
      ...{ groupId: id, queues: ['mail'], topic: null, fingerprint: null },
      ...{ acked: null, snoozed: null, resolvedAt: null },
    })
    expect(await api.client().alerts.list.query()).toEqual({ items: [alert], nextCursor: null })
    expect(await api.client().alerts.list.query({ state: 'resolved' })).toMatchObject({ items: [] })
  })

  it('remember who acknowledged them, and every action is in the audit', async () => {
    const api = await start(dialect)
    const { id } = await anAlert(api)
    const [ada, bob] = await Promise.all(
      ['ada', 'bob'].map(async (name) => {
        const { secret } = await api.client().tokens.create.mutate({ name, role: 'operator' })
        return createClient(api.url, secret)
      }),
    )
    await ada?.alerts.ack.mutate({ id })
    expect(await bob?.alerts.ack.mutate({ id })).toMatchObject({ state: 'acked', acked: { by: 'ada' } })
    const until = new Date(Date.now() + HOUR)
    expect(await bob?.alerts.snooze.mutate({ id, until })).toMatchObject({
      ...{ state: 'snoozed', snoozed: { until, by: 'bob' }, acked: null },
    })
    const { items } = await api.client().audit.list.query({ action: 'alerts.*' })
    expect(items).toMatchObject([
      { action: 'alerts.snooze', actor: { name: 'bob' }, target: { id }, count: 1 },
      { action: 'alerts.ack', actor: { name: 'bob' }, target: { id } },
      { action: 'alerts.ack', actor: { name: 'ada' }, target: { id } },
    ])
  })

  it('cannot be acknowledged when resolved, nor snoozed for too long, and say why', async () => {
    const api = await start(dialect)
    const { alerts } = api.client()
    const alert = await anAlert(api)
    const { id } = alert
    const until = new Date(Date.now() + 8 * 24 * HOUR)
    expect(await errorOf(alerts.snooze.mutate({ id, until }))).toMatchObject({ code: 'INVALID_INPUT' })
    await resolve(api, alert)
    expect(await errorOf(alerts.ack.mutate({ id }))).toMatchObject({
      code: 'INVALID_STATE',
      message: `Alert ${id} is resolved`,
      hint: expect.stringContaining('Nothing to do'),
    })
    const unknown = { id: crypto.randomUUID() }
    expect(await errorOf(alerts.get.query(unknown))).toMatchObject({ code: 'ALERT_NOT_FOUND' })
    expect(await errorOf(alerts.deleteRule.mutate(unknown))).toMatchObject({ code: 'ALERT_RULE_NOT_FOUND' })
  })

  it('are acknowledged several at once, except those resolved meanwhile', async () => {
    const api = await start(dialect)
    const { alerts } = api.client()
    const rows = [await anAlert(api), await anAlert(api), await anAlert(api)]
    const ids = rows.map(({ id }) => id)
    await resolve(api, await api.control.alerts.get(ids[0] ?? ''))
    const acked = await alerts.ack.mutate({ ids })
    expect(acked.alerts.map(({ id, state }) => [id, state]).sort()).toEqual(
      ids.slice(1).map((id) => [id, 'acked']),
    )
    const { items } = await api.client().audit.list.query({ action: 'alerts.ack' })
    expect(items).toMatchObject([{ target: { ids }, count: 2 }])
    expect(await errorOf(alerts.ack.mutate({ ids: ids.slice(0, 1) }))).toMatchObject({
      code: 'INVALID_STATE',
    })
    for (const wrong of [{}, { id: ids[0], ids }, { ids: [] }])
      expect(await errorOf(alerts.ack.mutate(wrong))).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('warn of a rule for an unknown queue or topic', async () => {
    const api = await start(dialect)
    const { alerts, jobs } = api.client()
    await jobs.enqueue.mutate({ topic: 'mail', queue: 'mail' })
    const rule = { name: 'x', kind: 'oldest_waiting', threshold: 10 } as const
    expect(await alerts.createRule.mutate({ ...rule, queue: 'mail' })).toMatchObject({ warning: null })
    expect(await alerts.createRule.mutate({ ...rule, queue: 'mial' })).toMatchObject({
      warning: expect.stringContaining('mial'),
    })
    // Served, although no job came yet.
    await api.store.attend({
      ...{ id: randomUUID(), host: 'a', pid: 1, queues: ['media'], concurrency: 1, version: '1' },
    })
    expect(await alerts.createRule.mutate({ ...rule, queue: 'media' })).toMatchObject({ warning: null })
    const ofTopic = { name: 'x', kind: 'topic_failure_rate', threshold: 0.1 } as const
    expect(await alerts.createRule.mutate({ ...ofTopic, topic: 'nothing' })).toMatchObject({
      ...{ topic: 'nothing', warning: expect.stringContaining('nothing') },
    })
    const wrong = [
      [ofTopic, 'INVALID_TOPIC'],
      [{ ...rule, topic: 'a' }, 'INVALID_TOPIC'],
      [{ ...ofTopic, topic: 'a', queue: 'mail' }, 'INVALID_QUEUE'],
    ] as const
    for (const [request, code] of wrong)
      expect(await errorOf(alerts.createRule.mutate(request))).toMatchObject({ code })
    for (const threshold of [0, 400])
      expect(
        await errorOf(alerts.createRule.mutate({ name: 'x', kind: 'new_error', threshold })),
      ).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('are streamed by every process: all open alerts, whenever they change', async () => {
    const api = await start(dialect)
    const seen: Alert[][] = []
    const subscription = api
      .client()
      .alerts.watch.subscribe(undefined, { onData: ({ data }) => void seen.push(data) })
    const seenAs = (states: string[][]) =>
      eventually(() => expect(seen.map((alerts) => alerts.map(({ state }) => state))).toEqual(states))
    await seenAs([[]])
    const alert = await anAlert(api)
    await seenAs([[], ['firing']])
    await api.control.alerts.ack(alert.id, 'ada')
    await seenAs([[], ['firing'], ['acked']])
    await resolve(api, alert)
    await seenAs([[], ['firing'], ['acked'], []])
    subscription.unsubscribe()
  })

  it('follow rules: five defaults, which can be changed, and new ones', async () => {
    const api = await start(dialect)
    const { alerts } = api.client()
    const rules = await alerts.rules.query()
    expect(rules.map(({ kind, threshold, forSeconds }) => [kind, threshold, forSeconds])).toEqual([
      ['oldest_waiting', 300, 60],
      ['failure_rate', 0.1, 120],
      ['no_workers', 0, 60],
      ['stalled', 1, 300],
      ['paused', 3_600, 0],
    ])
    const id = rules[0]?.id ?? ''
    const changed = await alerts.updateRule.mutate({ id, threshold: 60, forSeconds: 0 })
    expect(changed).toMatchObject({ ...rules[0], threshold: 60, forSeconds: 0, ...BY_ADMIN })
    await alerts.deleteRule.mutate({ id })
    expect((await alerts.rules.query())[0]).toMatchObject({ id, enabled: false })
    const rule = {
      name: 'media must not wait',
      kind: 'oldest_waiting',
      queue: 'media',
      threshold: 10,
    } as const
    const created = await alerts.createRule.mutate(rule)
    expect(created).toMatchObject({ ...rule, forSeconds: 60, enabled: true, builtIn: null, ...BY_ADMIN })
    expect(await alerts.rules.query()).toHaveLength(6)
    const share = alerts.createRule.mutate({ name: 'x', kind: 'failure_rate', threshold: 10 })
    expect(await errorOf(share)).toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('from 0 to 1'),
    })
  })

  it('are sent once by two processes, from the first evaluation to the webhook', async () => {
    const receiver = await Receiver.listen()
    const database = await createDatabase(dialect)
    const store = await openStore(database.url)
    const control = await openControl(store)
    const rule = await control.alertRules.create({
      ...{ name: 'mail must run', kind: 'paused', queue: 'mail', threshold: 0, forMs: 0, enabled: true },
    })
    await store.pause('mail', 'ada')
    await control.channels.create({ kind: 'webhook', name: 'pager', address: receiver.url })

    const env = { ONCUE_WEBHOOK_PRIVATE_ADDRESSES: 'true' }
    const processes = await Promise.all([1, 2].map(() => startProcess(database.url, env)))
    await receiver.until(1)
    await control.alertRules.update(rule.id, { enabled: false })
    await receiver.until(2)
    expect(await Promise.all(processes.map(({ process }) => process.stop()))).toEqual([0, 0])
    expect(receiver.received.map(({ body }) => JSON.parse(body).type)).toEqual([
      'alert.firing',
      'alert.resolved',
    ])
    await store.close()
    await database.drop()
  })
})

const BY_ADMIN = { updatedBy: 'admin', updated: expect.any(Date) }
