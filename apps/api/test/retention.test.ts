import { openStore } from '@oncue/db'
import { openControl } from '@oncue/db/control'
import { describe, expect, it } from 'vitest'
import { Retention } from '../src/retention.ts'
import { createDatabase, DIALECTS } from './harness.ts'

const DAY = 86_400_000
const actor = { id: 't1', name: 'Ada', kind: 'token' }

describe.each(DIALECTS)('retention on %s', (dialect) => {
  it('deletes audit entries of enqueues after a week, other entries and bulk operations after 90 days', async () => {
    const database = await createDatabase(dialect)
    let now = Date.UTC(2026, 0, 1)
    const store = await openStore(database.url, { clock: () => new Date(now) })
    const control = await openControl(store)
    const retention = new Retention({ store, control })
    const left = async () => (await control.audit.list()).items.map(({ action }) => action)
    const operations = async () => (await control.bulkOperations.list()).items.map(({ status }) => status)

    // More enqueues than one batch.
    await store.audit.record(Array.from({ length: 1_100 }, () => ({ actor, action: 'jobs.enqueue' })))
    await store.audit.record([{ actor, action: 'queues.pause' }])
    for (const idempotencyKey of ['ends', 'goes on']) {
      const { id } = await control.bulkOperations.create({
        ...{ action: 'requeue', filter: { status: 'failed' }, asOf: new Date(now), spreadMs: 0 },
        ...{ idempotencyKey, actor, total: 0, totalIsExact: true },
      })
      if (idempotencyKey === 'ends') await control.bulkOperations.stop(id, 'Ada')
    }
    now += 7 * DAY
    await retention.prune()
    expect(await left()).toHaveLength(50)
    now += 1
    await store.audit.record([{ actor, action: 'jobs.enqueueMany' }])
    await retention.prune()
    expect(await left()).toEqual(['jobs.enqueueMany', 'queues.pause'])
    now += 83 * DAY - 1
    await retention.prune()
    expect(await left()).toEqual(['queues.pause'])
    expect(await operations()).toHaveLength(2)
    now += 1
    await retention.prune()
    expect(await left()).toEqual([])
    expect(await operations()).toEqual(['running'])

    await retention.stop()
    await store.close()
    await database.drop()
  })
})
