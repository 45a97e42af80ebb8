import type { TestDatabase } from '@oncue/db/testing'
import { eventually } from '@oncue/testing'
import { openStore, type Store, silentLogger } from 'oncue'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DATABASES } from '../programs.ts'
import { playThePast, startDemo } from './demo.ts'

const MINUTE_MS = 60_000
const never = new AbortController().signal

describe.each(DATABASES)('the demo, on $dialect', ({ create }) => {
  let database: TestDatabase
  let store: Store
  beforeEach(async () => {
    database = await create()
    store = await openStore(database.url)
  })
  afterEach(async () => {
    await store.close()
    await database.drop()
  })

  test('has a past with one queue that is late, one that fails, and one that has just begun to fail', async () => {
    expect(await playThePast(database.url, never, { pastMs: 6 * MINUTE_MS })).toBe(true)

    const now = Date.now()
    const points = await store.series({ from: new Date(now - 20 * MINUTE_MS), to: new Date(now) })
    expect(points.length).toBeGreaterThanOrEqual(5)

    const looks = await store.gauges.list({ from: new Date(now - 20 * MINUTE_MS), to: new Date(now) })
    expect(looks.length).toBeGreaterThanOrEqual(5)
    expect(looks.at(-1)?.whole).toMatchObject({ workers: 2, slots: 14 })

    const queues = new Map((await store.queues()).map((queue) => [queue.queue, queue]))
    const { media, mail } = Object.fromEntries(queues)
    expect(now - (media?.oldestWaiting?.getTime() ?? now)).toBeGreaterThan(MINUTE_MS)
    expect(mail?.waiting).toBeLessThan(20)

    const { successRate } = await store.stats({ queue: 'payments' })
    expect(successRate).toBeGreaterThan(0.75)
    expect(successRate).toBeLessThan(0.95)
    const classes = (await store.failures()).map(({ sample }) => sample.error?.class)
    expect(classes).toEqual(expect.arrayContaining(['GatewayTimeoutError', 'WebhookRejectedError']))
    expect((await store.stats({ queue: 'mail' })).failed).toBe(0)

    // Once is enough: where there is a past, no other is added.
    expect(await playThePast(database.url, never)).toBe(false)
  })

  test('runs until it is stopped, and leaves nothing running', async () => {
    const demo = await startDemo(store, silentLogger)
    await eventually(async () => expect((await store.stats()).completed).toBeGreaterThan(2))
    expect((await store.schedules.list()).map(({ topic }) => topic)).toContain('sync_exchange_rates')
    await demo.stop()
    const { processing, completed } = await store.stats()
    expect(processing).toBe(0)
    expect(completed).toBeGreaterThan(2)
    expect(await store.workers()).toEqual([])
  })
})
