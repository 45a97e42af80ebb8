import type { JobContext } from '@oncue/core'
import { openStore } from '@oncue/db'
import { simulate } from '@oncue/runtime'
import { expect, it, onTestFinished } from 'vitest'
import { startWorker, type WorkerOptions } from '../src/index.ts'
import { someJobs, TestLog, until } from './harness.ts'

/** A worker on SQLite whose clock moves only when a test moves it. A run that waits for hours takes no time here. */
async function simulated(workers: WorkerOptions['workers'], options: Partial<WorkerOptions> = {}) {
  const runtime = simulate()
  const store = await openStore(':memory:', { runtime })
  onTestFinished(() => store.close())
  const before = runtime.timers
  const log = new TestLog()
  const worker = await startWorker({ store, runtime, log, lease: 'inline', workers, ...options })
  return { runtime, store, log, worker, leftTimers: () => runtime.timers - before }
}

it('runs a delayed job at its time', async () => {
  const ran: number[] = []
  const { runtime, store, worker } = await simulated({ mail: () => void ran.push(runtime.now()) })
  const startedAt = runtime.now()
  await store.enqueue(someJobs(1, 'mail', { delay: 60_000 }))
  await runtime.advance(59_000)
  expect(ran).toEqual([])
  await runtime.advance(2_000)
  await until(() => worker.stats().settled.complete === 1)
  expect(ran[0]).toBeGreaterThanOrEqual(startedAt + 60_000)
  expect(ran[0]).toBeLessThanOrEqual(startedAt + 61_000)
  await worker.stop()
})

it('stores log lines with the time at which they were logged, not that of the write', async () => {
  const written: number[] = []
  const { runtime, store, worker } = await simulated({
    talks: async (_, { log }) => {
      for (const text of ['first', 'second', 'third']) {
        log.info(text)
        written.push(runtime.now())
        await runtime.sleep(300)
      }
      await runtime.sleep(5_000)
    },
  })
  const [id = ''] = await store.enqueue(someJobs(1, 'talks'))
  await until(() => written.length === 1)
  await runtime.advance(10_000)
  await until(() => worker.stats().settled.complete === 1)
  const lines = (await store.events.list(id)).map(({ created, data }) => [created.getTime(), data])
  expect(written.map((at) => at - (written[0] ?? 0))).toEqual([0, 300, 600])
  expect(lines).toEqual(
    ['first', 'second', 'third'].map((message, n) => [written[n], { level: 'info', message }]),
  )
  await worker.stop()
})

it('extends the lease of a run for ten minutes, and then times it out', async () => {
  let aborted: unknown
  const deaf = (_: unknown, { signal }: JobContext) => {
    signal.addEventListener('abort', () => {
      aborted = signal.reason
    })
    return new Promise(() => {})
  }
  const { runtime, store, log, worker } = await simulated({ deaf })
  const [id = ''] = await store.enqueue(someJobs(1, 'deaf', { timeoutMs: 600_000, maxRetries: 0 }))
  await until(() => worker.stats().running === 1)
  await runtime.advance(599_000)
  expect([aborted, await store.get(id)]).toMatchObject([
    undefined,
    { status: 'processing', run: 1, crashes: 0 },
  ])
  await runtime.advance(2_000)
  expect(aborted).toMatchObject({ code: 'JOB_TIMEOUT' })
  await runtime.advance(5_000)
  await until(() => worker.stats().settled.fail === 1)
  expect(worker.stats()).toMatchObject({ abandoned: 1, running: 0 })
  expect(log.of('warn')).toContainEqual(expect.stringContaining('ignored ctx.signal'))
  await worker.stop()
})

it('waits for the grace time when it stops, and leaves no timer behind', async () => {
  const long = (_: unknown, { signal }: JobContext) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const { runtime, store, worker, leftTimers } = await simulated({ long })
  const [id = ''] = await store.enqueue(someJobs(1, 'long', { timeoutMs: 86_400_000 }))
  await until(() => worker.stats().running === 1)
  let isStopped = false
  const stopped = worker.stop({ graceMs: 3_600_000 }).then(() => {
    isStopped = true
  })
  await runtime.advance(3_599_000)
  expect([isStopped, worker.stats().running]).toEqual([false, 1])
  await runtime.advance(1_000)
  await stopped
  expect(await store.get(id)).toMatchObject({ status: 'pending', retries: 0, crashes: 0 })
  expect(leftTimers()).toBe(0)
})
