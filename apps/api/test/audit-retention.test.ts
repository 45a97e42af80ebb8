import { openStore } from '@oncue/db'
import { describe, expect, it } from 'vitest'
import { AuditRetention } from '../src/audit-retention.ts'
import { silentLogger } from '../src/log.ts'
import { createDatabase, DIALECTS } from './harness.ts'

const DAY = 86_400_000
const actor = { id: 't1', name: 'Ada', kind: 'token' }

describe.each(DIALECTS)('the audit on %s', (dialect) => {
  it('forgets enqueues after a week, and what people did after three months', async () => {
    const database = await createDatabase(dialect)
    let now = Date.UTC(2026, 0, 1)
    const store = await openStore(database.url, { clock: () => new Date(now) })
    const retention = new AuditRetention(store, silentLogger)
    const left = async () => (await store.audit.list()).items.map(({ action }) => action)

    // More than a batch of the first.
    await store.audit.record(Array.from({ length: 1_100 }, () => ({ actor, action: 'jobs.enqueue' })))
    await store.audit.record([{ actor, action: 'queues.pause' }])
    now += 7 * DAY
    await retention.prune()
    expect(await left()).toHaveLength(50)
    now += 1
    await store.audit.record([{ actor, action: 'jobs.enqueueMany' }])
    await retention.prune()
    expect(await left()).toEqual(['jobs.enqueueMany', 'queues.pause'])
    now += 83 * DAY
    await retention.prune()
    expect(await left()).toEqual([])

    await retention.close()
    await store.close()
    await database.drop()
  })
})
