import { TestClock } from '@oncue/db/conformance'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startProcess } from './api-process.ts'
import { aNotification, Office } from './deliveries.ts'
import { createDatabase, DIALECTS } from './harness.ts'
import { Receiver } from './receiver.ts'

const LEASE_MS = 60_000
const ENV = { ONCUE_WEBHOOK_PRIVATE_ADDRESSES: 'true' }

describe.each(DIALECTS)('API processes on one %s', (dialect) => {
  it('deliver each notification once, and one that a kill -9 interrupted again under the same id', async () => {
    const receiver = await Receiver.listen()
    const database = await createDatabase(dialect)
    onTestFinished(() => database.drop())
    // It only enqueues: another process may send.
    const office = await Office.open(dialect, { url: database.url, clock: clockAt(0), isIdle: true })
    await office.webhook(receiver.url)
    for (let n = 0; n < 30; n++) await office.delivery.notify(aNotification({ id: `alert:x:${n}` }))

    const [one, two] = await Promise.all([startProcess(database.url, ENV), startProcess(database.url, ENV)])
    await office.until(async () => expect((await office.store.stats()).completed).toBe(30))
    expect(idsOf(receiver).size).toBe(30)
    expect(receiver.received).toHaveLength(30)

    // The process is killed after sending and before recording it.
    receiver.answer = (_, nth) => (nth === 30 ? null : { status: 200 })
    await one.process.stop('SIGKILL')
    await office.delivery.notify(aNotification({ id: 'alert:x:30' }))
    await receiver.until(31)
    await two.process.stop('SIGKILL')

    const next = await Office.open(dialect, { url: database.url, clock: clockAt(LEASE_MS + 1_000) })
    await next.until(async () => expect((await next.store.stats()).completed).toBe(31))
    expect(receiver.received).toHaveLength(32)
    expect(idsOf(receiver).size).toBe(31)
  })
})

const clockAt = (fromNowMs: number) => new TestClock(new Date(Date.now() + fromNowMs).toISOString())
const idsOf = ({ received }: Receiver) => new Set(received.map(({ headers }) => headers['oncue-delivery']))
