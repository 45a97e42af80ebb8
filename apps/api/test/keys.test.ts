import { prepareOwnJob } from '@oncue/core/internal'
import type { ChannelRow } from '@oncue/db'
import { describe, expect, it } from 'vitest'
import type { Notification } from '../src/alerts/notification.ts'
import { toNotifyJob, toReceiptJob } from '../src/delivery/jobs.ts'
import { DIALECTS, errorOf, startTestApi } from './harness.ts'

describe.each(DIALECTS)('keys of jobs on %s', (dialect) => {
  /** A producer that may enqueue mail and nothing else, and an admin. */
  async function start() {
    const api = await startTestApi(dialect)
    const admin = api.client()
    const { id, secret } = await admin.tokens.create.mutate({
      ...{ name: 'shop', role: 'producer', allowedTopics: ['mail_*'] },
    })
    const notes = async () => (await admin.audit.list.query({ actorId: id })).items
    return { api, admin, shop: api.client(secret), notes }
  }
  const unique = (options: { scope?: 'all'; onConflict?: 'replace' | 'reject' } = {}) => ({
    unique: { key: 'order-456', ...options },
  })

  it('a producer of some topics cannot see, replace or keep out jobs of other topics', async () => {
    const { admin, shop } = await start()
    const payout = await admin.jobs.enqueue.mutate({ topic: 'payout', payload: { to: 'Ada' }, ...unique() })
    const forged = await shop.jobs.enqueue.mutate({
      ...{ topic: 'mail_digest', payload: { to: 'Eve' }, priority: 9, ...unique({ onConflict: 'replace' }) },
    })
    expect(forged).toMatchObject({ created: true, replaced: false })
    expect(forged.id).not.toBe(payout.id)
    expect(await admin.jobs.get.query({ id: payout.id })).toMatchObject({
      ...{ topic: 'payout', payload: { to: 'Ada' }, priority: 0, events: [] },
    })
    await shop.jobs.enqueue.mutate({ topic: 'mail_digest', idempotencyKey: 'payout-789' })
    expect(await admin.jobs.enqueue.mutate({ topic: 'payout', idempotencyKey: 'payout-789' })).toMatchObject({
      created: true,
    })
  })

  it.each([{}, { onConflict: 'reject' as const }])(
    "a producer of some topics cannot use a key with scope 'all': %o",
    async (options) => {
      const { admin, shop } = await start()
      const job = { topic: 'mail_digest', ...unique({ scope: 'all', ...options }) }
      expect(await errorOf(shop.jobs.enqueue.mutate(job))).toMatchObject({ code: 'TOPIC_NOT_ALLOWED' })
      const report = await shop.jobs.enqueueMany.mutate({ jobs: [job, { topic: 'mail_digest' }] })
      expect(report.results).toMatchObject([{ error: { code: 'TOPIC_NOT_ALLOWED' } }, { created: true }])
      expect(await admin.jobs.enqueue.mutate({ ...job, topic: 'payout' })).toMatchObject({ created: true })
    },
  )

  it("an operator of some topics cannot save a schedule with a key of scope 'all'", async () => {
    const { api, admin } = await start()
    const { secret } = await admin.tokens.create.mutate({
      ...{ name: 'desk', role: 'operator', allowedTopics: ['mail_*'] },
    })
    const schedule = { name: 'nightly', cron: '0 0 * * *', topic: 'mail_digest' }
    const save = (options: object) =>
      api.client(secret).schedules.save.mutate({ ...schedule, timezone: 'UTC', missed: 'one', options })
    expect(await errorOf(save(unique({ scope: 'all' })))).toMatchObject({ code: 'TOPIC_NOT_ALLOWED' })
    expect(await save(unique())).toMatchObject({ name: 'nightly' })
  })

  it("an operator of some topics cannot run a schedule with a key of scope 'all'", async () => {
    const { api, admin } = await start()
    const { secret } = await admin.tokens.create.mutate({
      ...{ name: 'desk', role: 'operator', allowedTopics: ['mail_*'] },
    })
    const options = unique({ scope: 'all' })
    await admin.schedules.save.mutate({ name: 'nightly', cron: '0 0 * * *', topic: 'mail_digest', options })
    const run = (client: typeof admin) => client.schedules.runNow.mutate({ name: 'nightly' })
    expect(await errorOf(run(api.client(secret)))).toMatchObject({ code: 'TOPIC_NOT_ALLOWED' })
    expect(await run(admin)).toMatchObject({ id: expect.any(String) })
  })

  it('an operator of some queues cannot save a schedule with a key, which may lead into another', async () => {
    const { api, admin } = await start()
    const { secret } = await admin.tokens.create.mutate({
      ...{ name: 'desk', role: 'operator', allowedQueues: ['low'] },
    })
    const desk = api.client(secret)
    const topic = 'mail_digest'
    const high = { topic, queue: 'high', payload: { to: 'Ada' } }
    const { id } = await admin.jobs.enqueue.mutate({ ...high, ...unique() })
    const schedule = { name: 'nightly', cron: '0 0 * * *', topic, payload: { to: 'Eve' } }
    const options = { queue: 'low', ...unique({ onConflict: 'replace' }) }
    const refusal = {
      code: 'QUEUE_NOT_ALLOWED',
      message: expect.stringContaining('a schedule with a unique key'),
    }
    expect(await errorOf(desk.schedules.save.mutate({ ...schedule, options }))).toMatchObject(refusal)
    await admin.schedules.save.mutate({ ...schedule, options })
    expect(await errorOf(desk.schedules.runNow.mutate({ name: 'nightly' }))).toMatchObject(refusal)
    expect(await admin.jobs.get.query({ id })).toMatchObject({ payload: { to: 'Ada' }, events: [] })
    await desk.schedules.save.mutate({ ...schedule, options: { queue: 'low' } })
    expect(await desk.schedules.runNow.mutate({ name: 'nightly' })).toMatchObject({ id: expect.any(String) })
  })

  it("the setting allowedTopics limits the scope 'all' for every role", async () => {
    const { admin } = await start()
    const job = { topic: 'mail_digest', ...unique({ scope: 'all' }) }
    await admin.settings.set.mutate({ allowedTopics: ['mail_*'] })
    expect(await errorOf(admin.jobs.enqueue.mutate(job))).toMatchObject({ code: 'TOPIC_NOT_ALLOWED' })
    await admin.settings.set.mutate({ allowedTopics: ['*'] })
    expect(await admin.jobs.enqueue.mutate(job)).toMatchObject({ created: true })
  })

  it('a producer of some queues cannot see or replace jobs of other queues by a key', async () => {
    const { api, admin } = await start()
    const { secret } = await admin.tokens.create.mutate({
      ...{ name: 'desk', role: 'producer', allowedQueues: ['low', 'mid'] },
    })
    const desk = api.client(secret)
    const topic = 'mail_digest'
    const refusal = { code: 'QUEUE_NOT_ALLOWED' }
    const high = { topic, queue: 'high', payload: { to: 'Ada' }, idempotencyKey: 'call-1' }
    const { id } = await admin.jobs.enqueue.mutate({ ...high, ...unique() })
    const forged = { topic, queue: 'low', payload: { to: 'Eve' } }
    const conflicts = [{}, { onConflict: 'replace' as const }, { onConflict: 'reject' as const }]
    const attempts = [...conflicts.map(unique), { idempotencyKey: 'call-1' }]
    const expectRefusals = async () => {
      for (const keys of attempts) {
        const error = await errorOf(desk.jobs.enqueue.mutate({ ...forged, ...keys }))
        expect(error).toMatchObject(refusal)
        expect(JSON.stringify(error)).not.toContain(id)
      }
    }
    await expectRefusals()
    const report = await desk.jobs.enqueueMany.mutate({
      jobs: [
        { ...forged, ...unique() },
        { ...forged, payload: 1 },
      ],
    })
    expect(report.results).toMatchObject([{ error: refusal }, { created: true }])
    const run = await api.claim('high')
    await expectRefusals()
    expect(await admin.jobs.get.query({ id })).toMatchObject({ payload: { to: 'Ada' }, events: [] })
    await api.complete(run)
    expect(await errorOf(desk.jobs.enqueue.mutate({ ...forged, ...attempts[3] }))).toMatchObject(refusal)
    // The key is free, and in its own queue the producer finds its own job.
    const replacing = { ...forged, ...unique({ onConflict: 'replace' }) }
    const own = await desk.jobs.enqueue.mutate(replacing)
    expect(own).toMatchObject({ created: true })
    expect(await desk.jobs.enqueue.mutate(replacing)).toMatchObject({ id: own.id, replaced: true })
    // A caller who may enqueue into every queue replaces as before.
    expect(await admin.jobs.enqueue.mutate({ ...replacing, queue: 'high' })).toMatchObject({
      ...{ id: own.id, replaced: true },
    })
  })

  it('a replacement counts as one change in the audit, and is an event of the job', async () => {
    const { admin, shop, notes } = await start()
    const replacing = { topic: 'mail_digest', ...unique({ onConflict: 'replace' }) }
    const { id } = await shop.jobs.enqueue.mutate(replacing)
    expect(await shop.jobs.enqueue.mutate({ ...replacing, payload: 2 })).toEqual({
      ...{ id, created: false, replaced: true },
    })
    await shop.jobs.enqueueMany.mutate({ jobs: [replacing, { topic: 'mail_digest', ...unique() }] })
    expect((await notes()).map(({ count }) => count)).toEqual([1, 1, 1])
    const { events } = await admin.jobs.get.query({ id })
    expect(events.map(({ type }) => type)).toEqual(['replaced', 'replaced'])
  })

  it('keys of notifications and receipts do not collide with those of requests', async () => {
    const { api } = await start()
    const channel = { id: crypto.randomUUID(), address: 'ExponentPushToken[x]' } as ChannelRow
    const notification: Notification = {
      ...{ id: 'alert:1:1', kind: 'test', at: new Date(), summary: 'A test', path: '/', alert: null },
      ...{ alerts: [], groups: [] },
    }
    for (const job of [toNotifyJob(notification, channel), toReceiptJob(channel, 'r1')]) {
      const request = prepareOwnJob(job.topic, null, { idempotencyKey: job.internalKey ?? '' })
      expect(await api.store.enqueue([request, job])).toEqual([request.id, job.id])
    }
  })
})
