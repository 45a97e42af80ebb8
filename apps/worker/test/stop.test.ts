import type { JobContext } from '@oncue/core'
import type { Store } from '@oncue/db'
import { expect, it, vi } from 'vitest'
import { startWorker, type WorkerOptions } from '../src/index.ts'
import { WorkerService } from '../src/worker.ts'
import { describeBoth, Gate, someJobs, TestLog, until } from './harness.ts'

const untilAborted = (_: unknown, { signal }: JobContext) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

describeBoth('stop', (bench) => {
  it('releases at once what has not started, uncharged, and waits for running jobs', async () => {
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

  it('releases the jobs of a claim in progress, uncharged', async () => {
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

  it('aborts jobs that still run after the grace time, and releases them uncharged', async () => {
    const store = await bench.open()
    const ids = await store.enqueue(someJobs(3, 'long'))
    const worker = await bench.start({ store, workers: { long: untilAborted } })
    await until(() => worker.stats().running === 3)
    await worker.stop({ graceMs: 50 })
    const jobs = await Promise.all(ids.map((id) => store.get(id)))
    expect(jobs).toMatchObject(ids.map(() => ({ status: 'pending', retries: 0, crashes: 0, run: 1 })))
    for (const job of jobs)
      expect(job?.events).toMatchObject([{ type: 'run_interrupted', data: { run: 1, worker: worker.id } }])
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

  it('is shortened by a second call, and a third has no effect', async () => {
    const store = await bench.open()
    const [id = ''] = await store.enqueue(someJobs(1, 'long'))
    const worker = await bench.start({ store, graceMs: 3_600_000, workers: { long: untilAborted } })
    await until(() => worker.stats().running === 1)
    const first = worker.stop()
    await Promise.all([worker.stop({ graceMs: 0 }), worker.stop(), first])
    expect(await store.get(id)).toMatchObject({ status: 'pending', retries: 0 })
  })

  it('ends a drain, because nothing will run any more', async () => {
    const store = await bench.open()
    await store.enqueue(someJobs(1, 'long'))
    const worker = await bench.start({ store, workers: { long: untilAborted } })
    await until(() => worker.stats().running === 1)
    const drained = worker.drain()
    await worker.stop({ graceMs: 0 })
    await drained
  })
})

/** Makes the next call of a method wait. */
function before(target: object, method: string, wait: () => Promise<void>): void {
  const methods = target as Record<string, (...args: unknown[]) => Promise<unknown>>
  const call = methods[method]?.bind(target)
  vi.spyOn(methods, method).mockImplementationOnce(async (...args) => {
    await wait()
    return call?.(...args)
  })
}

/** The steps of a starting worker, in order. */
const STEPS: [title: string, hold: (store: Store, wait: () => Promise<void>) => void][] = [
  ['announces its topics', (store, wait) => before(store, 'announce', wait)],
  ['becomes present', (store, wait) => before(store, 'attend', wait)],
  ['saves its schedules', (store, wait) => before(store.schedules, 'list', wait)],
  ['subscribes to wake-ups', (store, wait) => before(store, 'onWake', wait)],
]

describeBoth('starting', (bench) => {
  const options = { maintenance: {}, lease: 'inline', workers: { mail: () => null } } as const

  it.each(STEPS)('can be stopped while the worker %s, and leaves nothing behind', async (_, hold) => {
    const store = await bench.open()
    const claims = vi.spyOn(store, 'settleAndClaim')
    await store.enqueue(someJobs(1, 'mail'))
    const [reached, goOn] = [new Gate(), new Gate()]
    hold(store, () => {
      reached.open()
      return goOn.opened
    })
    const worker = new WorkerService({ ...options, store, log: new TestLog() })
    const started = expect(worker.start()).rejects.toMatchObject({ code: 'WORKER_STOPPING' })
    await reached.opened
    const stopped = worker.stop()
    goOn.open()
    await Promise.all([started, stopped, worker.stop()])
    expect(await store.workers()).toEqual([])
    expect(await store.stats()).toMatchObject({ pending: 1 })
    expect(claims).not.toHaveBeenCalled()
  })

  it.each(STEPS)('that fails while the worker %s stops what had started', async (_, hold) => {
    const store = await bench.open()
    hold(store, () => Promise.reject(new Error('no')))
    await expect(startWorker({ ...options, store, log: new TestLog() })).rejects.toThrow('no')
    expect(await store.workers()).toEqual([])
  })

  it('can be stopped while the lease thread starts', async () => {
    const store = await bench.open()
    const announced = new Gate()
    before(store, 'announce', async () => announced.open())
    const worker = new WorkerService({ ...options, store, log: new TestLog(), lease: 'thread' })
    const started = worker.start().catch((error: unknown) => error)
    await announced.opened
    await worker.stop()
    expect(await started).toBeInstanceOf(Error)
    expect(await store.workers()).toEqual([])
  })

  it('and stopping twice has no effect', async () => {
    const store = await bench.open()
    const [announced, attended] = [vi.spyOn(store, 'announce'), vi.spyOn(store, 'attend')]
    const worker = new WorkerService({ ...options, store, log: new TestLog() })
    await Promise.all([worker.start(), worker.start()])
    await worker.start()
    expect([announced, attended].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
    await worker.stop()
    await worker.stop()
    expect(await store.workers()).toEqual([])
  })
})

describeBoth('the order of a stop', (bench) => {
  /** Records the end of each part of a worker, in order. */
  function record(store: Store, order: string[]): void {
    const [settle, recordProgress, attend] = [store.settle, store.recordProgress, store.attend]
    const recorded = async <T>(what: string, work: Promise<T>): Promise<T> => {
      const result = await work
      order.push(what)
      return result
    }
    vi.spyOn(store, 'settle').mockImplementation((ends, worker) => {
      const settled = settle.call(store, ends, worker)
      return ends.length > 0 ? recorded('end written', settled) : settled
    })
    vi.spyOn(store, 'recordProgress').mockImplementation((...args) =>
      recorded('events written', recordProgress.apply(store, args)),
    )
    vi.spyOn(store, 'attend').mockImplementation(async (worker) => {
      const presence = await attend.call(store, worker)
      return { ...presence, leave: () => recorded('left', presence.leave()) }
    })
  }

  it('is: runs end, their events and ends are written, hooks end, and the lease is given up last', async () => {
    const store = await bench.open()
    const order: string[] = []
    record(store, order)
    await store.enqueue(someJobs(1, 'fails', { maxRetries: 0 }))
    const [gate, hook] = [new Gate(), new Gate()]
    const fails = async (_: unknown, { log }: JobContext) => {
      await gate.opened
      log.info('the last words')
      order.push('run ended')
      throw new Error('no')
    }
    const onFailed = async () => {
      await hook.opened
      order.push('hook ended')
    }
    const worker = await bench.start({ store, onFailed, workers: { fails } })
    await until(() => worker.stats().running === 1)
    const stopped = worker.stop()
    gate.open()
    await until(() => worker.stats().settled.fail === 1)
    expect((await store.workers()).length).toBe(1)
    hook.open()
    await stopped
    expect(order).toEqual(['run ended', 'events written', 'end written', 'hook ended', 'left'])
    expect(await store.workers()).toEqual([])
  })

  it('is kept when a part fails to stop: the lease is given up, and the failure is reported', async () => {
    const store = await bench.open()
    const subscribe = store.onWake.bind(store)
    vi.spyOn(store, 'onWake').mockImplementationOnce(async (...args) => {
      const subscription = await subscribe(...args)
      return {
        async close() {
          await subscription.close()
          throw new Error('cannot close')
        },
      }
    })
    const log = new TestLog()
    const options: WorkerOptions = {
      store,
      log,
      lease: 'inline',
      maintenance: false,
      workers: { mail: () => null },
    }
    const worker = await startWorker(options)
    await expect(worker.stop()).rejects.toThrow('cannot close')
    expect(await store.workers()).toEqual([])
    expect(log.of('info')).toContain('worker stopped')
  })
})
