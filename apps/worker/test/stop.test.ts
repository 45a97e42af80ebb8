import type { JobContext } from '@oncue/core'
import { expect, it, vi } from 'vitest'
import { describeBoth, Gate, someJobs, until } from './harness.ts'

const untilAborted = (_: unknown, { signal }: JobContext) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

describeBoth('stop', (bench) => {
  it('gives back at once what has not started, uncharged, and waits for what runs', async () => {
    const store = await bench.open()
    await store.enqueue(someJobs(100, 'short'))
    const gate = new Gate()
    const workers = { short: async () => null, long: () => gate.opened }
    const worker = await bench.start({ store, concurrency: 1, workers })
    await worker.drain()
    await store.enqueue(someJobs(5, 'long'))
    await until(() => worker.stats().prefetched === 4)
    const stopped = worker.stop()
    await expect.poll(() => store.stats({ topic: 'long' })).toMatchObject({ processing: 1, pending: 4 })
    gate.open()
    await stopped
    expect(await store.stats({ topic: 'long' })).toMatchObject({ completed: 1, pending: 4, processing: 0 })
    const { items } = await store.list({ topic: 'long', status: 'pending' })
    expect(items.every(({ retries, crashes }) => retries + crashes === 0)).toBe(true)
    expect(await store.workers()).toEqual([])
  })

  it('gives back what a claim brings that was under way, uncharged', async () => {
    const store = await bench.open()
    const ids = await store.enqueue(someJobs(5, 'mail'))
    const [asked, answered] = [new Gate(), new Gate()]
    const claim = store.settleAndClaim.bind(store)
    vi.spyOn(store, 'settleAndClaim').mockImplementationOnce(async (...request) => {
      const claimed = await claim(...request)
      asked.open()
      await answered.opened
      return claimed
    })
    const ran: string[] = []
    const worker = await bench.start({ store, workers: { mail: ({ id }) => void ran.push(id) } })
    await asked.opened
    const stopped = worker.stop()
    answered.open()
    await stopped
    expect(ran).toEqual([])
    const jobs = await Promise.all(ids.map((id) => store.get(id)))
    expect(jobs).toMatchObject(ids.map(() => ({ status: 'pending', retries: 0, crashes: 0, run: 1 })))
    expect(worker.stats().settled.release).toBe(5)
  })

  it('claims nothing more', async () => {
    const store = await bench.open()
    const worker = await bench.start({ store, workers: { mail: () => null } })
    await worker.drain()
    await worker.stop()
    const { claims } = worker.stats()
    await store.enqueue(someJobs(3, 'mail'))
    const other = await bench.start({ store, workers: { mail: () => null } })
    await other.drain()
    expect(worker.stats().claims).toBe(claims)
    expect(other.stats().settled.complete).toBe(3)
  })

  it('aborts what still runs after the grace time, and gives it back uncharged', async () => {
    const store = await bench.open()
    const ids = await store.enqueue(someJobs(3, 'long'))
    const worker = await bench.start({ store, workers: { long: untilAborted } })
    await until(() => worker.stats().running === 3)
    await worker.stop({ graceMs: 50 })
    const jobs = await Promise.all(ids.map((id) => store.get(id)))
    expect(jobs).toMatchObject(ids.map(() => ({ status: 'pending', retries: 0, crashes: 0, run: 1 })))
  })

  it('does not wait for a handler that ignores its signal', async () => {
    const store = await bench.open()
    const [id = ''] = await store.enqueue(someJobs(1, 'deaf'))
    const gate = new Gate()
    const worker = await bench.start({ store, workers: { deaf: () => gate.opened } })
    await until(() => worker.stats().running === 1)
    await worker.stop({ graceMs: 0 })
    expect(worker.stats().abandoned).toBe(1)
    expect(await store.get(id)).toMatchObject({ status: 'pending', retries: 0, crashes: 0 })
    gate.open()
  })

  it('is hurried by a second call, and a third does no harm', async () => {
    const store = await bench.open()
    const [id = ''] = await store.enqueue(someJobs(1, 'long'))
    const worker = await bench.start({ store, graceMs: 3_600_000, workers: { long: untilAborted } })
    await until(() => worker.stats().running === 1)
    const first = worker.stop()
    await Promise.all([worker.stop({ graceMs: 0 }), worker.stop(), first])
    expect(await store.get(id)).toMatchObject({ status: 'pending', retries: 0 })
  })

  it('lets a drain end, since nothing will run any more', async () => {
    const store = await bench.open()
    await store.enqueue(someJobs(1, 'long'))
    const worker = await bench.start({ store, workers: { long: untilAborted } })
    await until(() => worker.stats().running === 1)
    const drained = worker.drain()
    await worker.stop({ graceMs: 0 })
    await drained
  })
})
