import { openStore } from '@oncue/db'
import { openControl } from '@oncue/db/control'
import { simulate } from '@oncue/runtime'
import { eventually } from '@oncue/testing'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Retention } from '../src/retention.ts'
import { createClient, createDatabase, startTestApi } from './harness.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

it('the whole API runs on a simulated clock', async () => {
  const runtime = simulate()
  const start = runtime.now()
  const api = await startTestApi('sqlite', { runtime })
  const { store, control, live } = api.services
  const client = createClient(api.url)

  const { id } = await client.jobs.enqueue.mutate({ topic: 'mail' })
  // In steps, because Prisma takes real time.
  const passed = async (check: () => Promise<void>) => {
    const step = async () => {
      await runtime.advance(SECOND)
      await check()
    }
    await eventually(step)
  }
  await passed(async () => {
    const { items } = await control.alerts.list({ state: 'open' })
    expect(items.map(({ summary }) => summary)).toEqual(['No workers are alive, 1 job waits'])
  })
  await passed(async () => {
    const samples = await store.gauges.list({ from: new Date(start), to: new Date(runtime.now()) })
    const minutes = samples.map(({ minute }) => (minute.getTime() - start) / MINUTE)
    expect(minutes.slice(0, 3)).toEqual([0, 1, 2])
  })

  const waiting = client.jobs.wait.query({ id, timeoutMs: 10_000 })
  await expect.poll(() => live.states.size).toBe(1)
  await runtime.advance(10_000)
  expect(await waiting).toMatchObject({ finished: false })

  await api.close()
  expect(runtime.timers).toBe(0)
})

it('retention runs within a minute of the start, then every hour, and backs off when it fails', async () => {
  const database = await createDatabase('sqlite')
  onTestFinished(() => database.drop())
  const runtime = simulate()
  const store = await openStore(database.url, { runtime })
  onTestFinished(() => store.close())
  const control = await openControl(store)
  const retention = new Retention({ store, control, runtime })
  const prune = vi.spyOn(retention, 'prune')
  const runsAfter = async (ms: number) => {
    await runtime.advance(ms)
    // Prisma takes real time.
    await Promise.allSettled(prune.mock.results.map(({ value }) => value))
    return prune.mock.calls.length
  }
  retention.start()
  expect([await runsAfter(MINUTE / 2 - 1), await runsAfter(MINUTE / 2), await runsAfter(HOUR)]).toEqual([
    0, 1, 2,
  ])
  prune.mockRejectedValueOnce(new Error('away'))
  expect([await runsAfter(HOUR), await runsAfter(MINUTE), await runsAfter(HOUR)]).toEqual([3, 4, 5])
  await retention.stop()
  expect(await runsAfter(HOUR)).toBe(5)

  // An API that is restarted every hour prunes as well.
  for (const runs of [6, 7]) {
    retention.start()
    expect(await runsAfter(HOUR - 1)).toBe(runs)
    await retention.stop()
  }
})
