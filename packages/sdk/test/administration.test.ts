import { defineJobs, job } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createClient } from '../src/index.ts'
import { DIALECTS, startWorld } from './harness.ts'

describe.each(DIALECTS)('everything else that the API can do, on %s', (dialect) => {
  it('can be called', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    await world.work({ async embed() {} })
    const from = new Date(Date.now() - 60_000)

    expect(await client.topics.list()).toMatchObject([{ topic: 'embed' }])
    expect(await client.workers.list()).toMatchObject([
      { queues: ['default', 'mail'], startedAt: expect.any(Date) },
    ])

    await client.queues.pause({ queue: 'mail' })
    await client.queues.limit({ queue: 'mail', limit: { maxRunning: 2 } })
    await client.queues.configure({ queue: 'mail', ageingMs: 1_000 })
    expect(await client.queues.list()).toContainEqual(
      expect.objectContaining({
        queue: 'mail',
        paused: { at: expect.any(Date), by: 'admin', until: null },
        ageingMs: 1_000,
      }),
    )
    await client.queues.resume({ queue: 'mail' })

    await client.schedules.save({ name: 'nightly', cron: '0 3 * * *', topic: 'embed', payload: { size: 1 } })
    await client.schedules.pause({ name: 'nightly' })
    await client.schedules.resume({ name: 'nightly' })
    const { id } = await client.schedules.runNow({ name: 'nightly' })
    expect(await client.jobs.wait(id)).toBeNull()
    expect(await client.schedules.list()).toMatchObject([
      { name: 'nightly', nextAt: expect.any(Date), nextRuns: [1, 2, 3].map(() => expect.any(Date)) },
    ])
    await client.schedules.remove({ name: 'nightly' })

    expect(await client.jobs.series({ from, to: new Date(), stepMinutes: 5 })).toBeInstanceOf(Array)
    expect(await client.jobs.gauges({ from, to: new Date() })).toBeInstanceOf(Array)
    expect(await client.jobs.failures()).toEqual([])
    expect(await client.jobs.stats()).toMatchObject({ completed: 1 })

    const token = await client.tokens.create({ name: 'phone', role: 'viewer' })
    expect(await world.client({ token: token.secret }).tokens.me()).toMatchObject({
      role: 'viewer',
      may: ['read'],
    })
    expect(await client.tokens.revoke({ id: token.id })).toEqual({ devices: 0 })
    expect(await client.tokens.list({ ended: true })).toContainEqual(
      expect.objectContaining({ id: token.id, revokedAt: expect.any(Date) }),
    )

    await client.settings.set({ httpEnabled: false })
    expect((await client.settings.get()).values).toMatchObject({ httpEnabled: false })
    const { items } = await client.audit.list({ from, limit: 100 })
    expect(items.map(({ action }) => action)).toContain('schedules.runNow')

    expect((await client.health.get()).now).toBeInstanceOf(Date)
    for await (const health of client.health.watch()) {
      expect(health.now).toBeInstanceOf(Date)
      break
    }
  })

  it('reports problems, and records who acknowledged them', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const rule = await client.alerts.createRule({
      ...{ name: 'mail must run', kind: 'paused', queue: 'mail', threshold: 0, forSeconds: 0 },
    })
    await client.queues.pause({ queue: 'mail' })
    let id = ''
    for await (const open of client.alerts.watch()) {
      id = open[0]?.id ?? ''
      if (id !== '') break
    }
    expect(await client.alerts.ack({ id })).toMatchObject({ state: 'acked', acked: { by: 'admin' } })
    expect(await client.alerts.unack({ id })).toMatchObject({ state: 'firing', acked: null })
    const until = new Date(Date.now() + 3_600_000)
    expect(await client.alerts.snooze({ id, until })).toMatchObject({ state: 'snoozed', snoozed: { until } })
    expect(await client.alerts.unsnooze({ id })).toMatchObject({ state: 'firing' })
    const alert = await client.alerts.get({ id })
    expect(alert).toMatchObject({ ruleId: rule.id, queue: 'mail', firedAt: expect.any(Date) })
    expect((await client.alerts.list({ state: 'open' })).items.map((item) => item.id)).toEqual([id])

    expect(await client.alerts.updateRule({ id: rule.id, enabled: false })).toMatchObject({ enabled: false })
    await client.alerts.deleteRule({ id: rule.id })
    expect((await client.alerts.rules()).map(({ builtIn }) => builtIn)).toHaveLength(5)
  })

  it('runs a bulk operation on the jobs of a preview, and reports its progress', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    for (const size of [1, 2]) await client.jobs.enqueue('embed', { size })
    await client.jobs.enqueue('extract', { url: '/' })
    const action = 'cancel'
    const filter = { status: 'pending', topic: 'embed' } as const
    const { asOf, count, byStatus } = await client.bulkOperations.preview({ action, filter })
    expect({ count, byStatus }).toEqual({ count: 2, byStatus: { pending: 2 } })
    const { id } = await client.bulkOperations.run({
      ...{ action, filter, asOf, expectedCount: count, idempotencyKey: 'the button was pressed' },
    })
    let status: string | undefined
    for await (const operation of client.bulkOperations.watch({ id })) status = operation.status
    expect(status).toBe('completed')
    expect(await client.bulkOperations.get({ id })).toMatchObject({ done: 2, skipped: {} })
    expect(await client.bulkOperations.stop({ id })).toMatchObject({ status: 'completed', stoppedBy: null })
    expect((await client.bulkOperations.list()).items).toMatchObject([{ id, finishedAt: expect.any(Date) }])
  })

  it('manages the channels of alerts', async () => {
    const world = await startWorld(dialect)
    const client = world.client()
    const url = 'https://1.1.1.1/hook'
    const { id, secret } = await client.channels.create({ kind: 'webhook', name: 'pager', url })
    expect(secret).toMatch(/^whsec_/)
    await client.channels.update({ id, enabled: false })
    expect(await client.channels.list()).toMatchObject([{ id, enabled: false, created: expect.any(Date) }])
    await client.channels.delete({ id })

    const { code } = await client.pairings.create({ role: 'viewer' })
    const paired = await world.client({ token: undefined }).pairings.exchange({ code, name: 'phone' })
    const phone = world.client({ token: paired.secret })
    expect(await phone.devices.testPush()).toEqual({ delivered: false, error: expect.any(String) })
    await phone.devices.registerPush({ pushToken: 'ExponentPushToken[x]' })
    expect(await client.channels.list()).toMatchObject([{ kind: 'push', deviceId: paired.device.id }])
    await phone.devices.registerPush({ pushToken: null })
    expect(await client.channels.list()).toEqual([])
  })

  it('signs browsers in', async () => {
    const world = await startWorld(dialect)
    const { secret } = await world.client().tokens.create({ name: 'ada', role: 'viewer' })
    // Like a browser: it stores the cookie, and sends it.
    let cookie = ''
    const browser = world.client({
      token: undefined,
      async fetch(input, init) {
        const headers = new Headers(init?.headers)
        if (cookie !== '') headers.set('cookie', cookie)
        headers.set('origin', world.url)
        const response = await fetch(input, { ...init, headers })
        cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie
        return response
      },
    })
    await expect(browser.session.start('oncue_wrong')).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    const session = await browser.session.start(secret)
    expect(session).toEqual({ name: 'ada', role: 'viewer', expiresAt: expect.any(Date) })
    expect(await browser.tokens.me()).toMatchObject({ kind: 'session', name: 'ada' })
    await browser.session.end()
    expect(await browser.tokens.me()).toMatchObject({ kind: 'anonymous' })
  })

  it('a schedule is checked by the definitions of the client, as a job is', async () => {
    const { url, adminToken: token } = await startWorld(dialect)
    const jobs = defineJobs({ embed: job({ input: z.object({ at: z.coerce.date<Date | string>() }) }) })
    const client = createClient({ url, token, jobs })
    const nightly = { name: 'nightly', cron: '0 3 * * *' } as const
    const wrong = { ...nightly, topic: 'embed', payload: { at: 'never' } } as const
    await expect(client.schedules.save(wrong)).rejects.toMatchObject({ code: 'INVALID_PAYLOAD' })
    const unknown = client.schedules.save({ ...wrong, topic: 'embde' as 'embed' })
    await expect(unknown).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC' })
    expect(await client.schedules.list()).toEqual([])
    await client.schedules.save({ ...nightly, topic: 'embed', payload: { at: new Date(0) } })
    expect(await client.schedules.list()).toMatchObject([{ payload: { at: '1970-01-01T00:00:00.000Z' } }])
  })
})
