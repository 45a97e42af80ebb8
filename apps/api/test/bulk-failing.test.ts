import { OncueError } from '@oncue/core'
import { openStore } from '@oncue/db'
import { openControl } from '@oncue/db/control'
import { simulate } from '@oncue/runtime'
import { until } from '@oncue/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BulkRunner } from '../src/bulk/runner.ts'
import { createDatabase, DIALECTS, failJobs } from './harness.ts'

const POLL_MS = 2_000

describe.each(DIALECTS)('a bulk operation that cannot be continued, on %s', (dialect) => {
  it.each([
    ['an error that may pass', 'DATABASE_BUSY'],
    ['an error that stays', 'DATABASE_ERROR'],
  ] as const)('backs off and is logged once: %s', async (_, code) => {
    const database = await createDatabase(dialect)
    onTestFinished(() => database.drop())
    const runtime = simulate()
    const store = await openStore(database.url)
    onTestFinished(() => store.close())
    const control = await openControl(store)
    await failJobs(store, 1)
    const { id } = await control.bulkOperations.create({
      ...{ action: 'requeue', filter: { status: 'failed' }, asOf: await store.now(), spreadMs: 0 },
      ...{
        idempotencyKey: 'k',
        actor: { id: 't1', name: 'Ada', kind: 'token' },
        total: 1,
        totalIsExact: true,
      },
    })
    // It has ended; only what became of its job is not known yet.
    const created = await control.bulkOperations.get(id)
    for (let seen = created; seen && !seen.finishedAt; )
      seen = (await store.bulkOperations.advance(seen, 10)) ?? seen

    let message = 'a page is broken'
    let attempts = 0
    let polls = 0
    let isBroken = true
    const { follow } = store.bulkOperations
    const logged: string[] = []
    const say = (_: object, text: string) => void logged.push(text)
    const runner = new BulkRunner({
      store: {
        lead: (...args) => store.lead(...args),
        stepDown: (...args) => store.stepDown(...args),
        bulkOperations: {
          ...store.bulkOperations,
          follow: async (...args) => {
            attempts++
            if (isBroken) throw new OncueError(code, message)
            return follow(...args)
          },
        },
      },
      control: {
        bulkOperations: {
          ...control.bulkOperations,
          open: async () => {
            const open = await control.bulkOperations.open()
            polls++
            return open
          },
        },
      },
      log: { info: say, warn: say, error: say },
      runtime,
    })
    runner.start()
    onTestFinished(() => runner.stop())
    const poll = async (times: number) => {
      for (let n = 0; n < times; n++) {
        const before = polls
        await runtime.advance(POLL_MS)
        await until(() => polls > before)
      }
    }
    await until(() => attempts === 1)
    await poll(30)
    expect(attempts).toBeGreaterThan(2)
    // Without a pause that grows there would be one with each poll.
    expect(attempts).toBeLessThan(10)
    expect(logged).toHaveLength(1)

    message = 'another page is broken'
    const before = attempts
    while (attempts === before) await poll(5)
    await until(() => logged.length === 2)

    isBroken = false
    while (!logged.includes('bulk operation continues')) await poll(5)
    expect(logged).toHaveLength(3)
  })
})
