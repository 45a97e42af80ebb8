import { isOncueError, type JobId } from '@oncue/core'
import type { Store } from '@oncue/db'
import { expect, it } from 'vitest'
import { describeBoth, someJobs, until, type WorkerProcess } from './harness.ts'

/** For tests that wait as long as there is progress. */
const LONG_MS = 600_000

const HOUR = 3_600_000

/** Real processes, ended by real signals. */
describeBoth('worker processes', (bench) => {
  const read = (store: Store, ids: readonly JobId[]) => Promise.all(ids.map((id) => store.get(id)))

  it('killed with SIGKILL: the jobs run elsewhere long before its leases end, and only started ones are charged', async () => {
    const store = await bench.open()
    // So that it has measured jobs as short, and prefetches.
    await store.enqueue(someJobs(200, 'noop'))
    const victim = await bench.spawn({ concurrency: 2, leaseMs: HOUR })
    await until(async () => (await store.stats()).completed === 200)
    const heir = await bench.spawn({ concurrency: 5, leaseMs: HOUR })
    // So that the victim alone claims them.
    await pauseBetweenWrites(heir, store)
    const ids = await store.enqueue(someJobs(5, 'hold'))
    await until(() => victim.started.length === 2)
    await victim.kill()
    heir.child.kill('SIGCONT')
    await until(() => heir.started.length === 5)
    heir.tell({ finish: true })
    await until(async () => (await store.stats()).completed === 205)
    const jobs = await read(store, ids)
    expect(jobs.map((job) => job?.result)).toEqual(ids.map(() => heir.pid))
    const charged = jobs.map((job) => Number(victim.started.includes(job?.id ?? '')))
    expect(jobs.map((job) => job?.crashes)).toEqual(charged)
    expect(jobs.map((job) => job?.run)).toEqual(ids.map(() => 2))
  })

  it.each([
    ['anywhere', null],
    ['in a queue that runs one job at a time', { maxRunning: 1 }],
  ])(
    'paused with SIGSTOP for longer than its lease, %s: what it ends afterwards is refused',
    async (_, limit) => {
      const store = await bench.open()
      await store.limit({ queue: 'default' }, limit)
      const [id = ''] = await store.enqueue(someJobs(1, 'hold'))
      const paused = await bench.spawn({ leaseMs: 1_000 })
      await until(() => paused.started.length === 1)
      await pauseBetweenWrites(paused, store)
      const heir = await bench.spawn({ leaseMs: 1_000, pollMs: 100 })
      await until(() => heir.started.length === 1)
      heir.tell({ finish: true })
      await until(async () => (await store.get(id))?.status === 'completed')
      paused.tell({ finish: true })
      paused.child.kill('SIGCONT')
      // Its end is refused, or a heartbeat reported the loss before it was sent.
      await until(async () => (await statsOf(paused)).every(({ stale, lost }) => stale + lost === 1))
      paused.child.kill('SIGTERM')
      expect(await paused.exited).toEqual({ code: 0, signal: null })
      expect(await store.get(id)).toMatchObject({ result: heir.pid, run: 2 })
    },
  )

  it('stopped by five SIGTERMs: exits once and cleanly, and nothing is lost', async () => {
    const store = await bench.open()
    const ids = await store.enqueue(someJobs(4, 'hold'))
    const child = await bench.spawn({ concurrency: 3 })
    await until(() => child.started.length === 3)
    for (let n = 0; n < 5; n++) child.child.kill('SIGTERM')
    await until(() => child.told.some((message) => 'stopping' in message))
    child.tell({ finish: true })
    expect(await child.exited).toEqual({ code: 0, signal: null })
    expect(child.stderr).toBe('')
    expect(await store.stats()).toMatchObject({ completed: 3, pending: 1, processing: 0 })
    expect((await read(store, ids)).every((job) => job?.crashes === 0 && job.retries === 0)).toBe(true)
    expect(await store.workers()).toEqual([])
  })

  it('whose handler blocks the event loop for three leases: the job is not run twice', async () => {
    const store = await bench.open()
    const [blocking] = someJobs(1, 'block')
    if (!blocking) throw new Error('there is one')
    const id = blocking.id
    await store.enqueue([{ ...blocking, payload: JSON.stringify({ ms: 3_000 }) }])
    const child = await bench.spawn({ leaseMs: 1_000 })
    await until(() => child.started.length === 1)
    const rival = await bench.spawn({ leaseMs: 1_000, pollMs: 50 })
    await until(async () => (await store.get(id))?.status === 'completed')
    expect(await store.get(id)).toMatchObject({ run: 1, crashes: 0, result: child.pid })
    expect(rival.started).toEqual([])
  })

  it('whose handler blocks the event loop for ever: the process ends, and only that job is charged', async () => {
    const store = await bench.open()
    const others = await store.enqueue(someJobs(2, 'hold'))
    const child = await bench.spawn({ concurrency: 3, leaseMs: 2_000, abandonMs: 0 })
    await until(() => child.started.length === 2)
    const [id = ''] = await store.enqueue(someJobs(1, 'spin', { timeoutMs: 500 }))
    expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' })
    expect(JSON.parse(child.stderr)).toMatchObject({ level: 'fatal', jobs: [id] })
    expect(await store.get(id)).toMatchObject({
      status: 'pending',
      retries: 1,
      crashes: 0,
      lastError: { code: 'JOB_TIMEOUT', message: expect.stringContaining('blocked the event loop') },
    })
    const events = [{ type: 'run_interrupted', data: { run: 1 } }]
    const uncharged = { status: 'pending', retries: 0, crashes: 0, events }
    expect(await read(store, others)).toMatchObject([uncharged, uncharged])
  })

  it('a hundred workers on one queue: every job runs once, and no worker starves', {
    timeout: LONG_MS,
  }, async () => {
    const store = await bench.open()
    const count = bench.dialect === 'postgres' ? 4 : 2
    const options = { count: 100 / count, concurrency: 1, lease: 'inline', pollMs: 200 } as const
    const processes = await Promise.all(Array.from({ length: count }, () => bench.spawn(options)))
    await store.enqueue(someJobs(2_000, 'nap'))
    await untilDone(store)
    const completed = (await Promise.all(processes.map(statsOf))).flat().map((stats) => stats.completed)
    expect(completed).toHaveLength(100)
    expect(Math.min(...completed)).toBeGreaterThan(0)
    expect(completed.reduce((a, b) => a + b, 0)).toBe(2_000)
    expect((await store.stats()).completed).toBe(2_000)
  })

  it('four processes and ten thousand jobs, a third of whose runs fail: each is settled once', {
    timeout: LONG_MS,
  }, async () => {
    const store = await bench.open()
    const total = 10_000
    const retry = { strategy: 'fixed', baseDelay: 0, max: 2 } as const
    await store.enqueue(someJobs(total, 'flaky', { retry }))
    const processes = await Promise.all(Array.from({ length: 4 }, () => bench.spawn({ concurrency: 20 })))
    await untilDone(store)
    await expect.poll(() => sumOf(processes)).toMatchObject({ stale: 0 })
    const { completed, failed } = await store.stats()
    expect(completed + failed).toBe(total)
    // It takes three failed runs in a row: one job in 27.
    expect(failed).toBeGreaterThan(total / 54)
    expect(failed).toBeLessThan(total / 14)
    const { claimed, settled } = await sumOf(processes)
    expect(settled).toBe(claimed)
    expect(claimed).toBeGreaterThan(total)
  })
})

/** Paused outside a transaction: within one it would block every writer of a SQLite file. */
async function pauseBetweenWrites({ child }: WorkerProcess, store: Store): Promise<void> {
  for (;;) {
    child.kill('SIGSTOP')
    try {
      return await store.stepDown('nothing', 'nobody')
    } catch (error) {
      if (!isOncueError(error, 'DATABASE_BUSY')) throw error
      child.kill('SIGCONT')
    }
  }
}

/** Takes as long as needed on a loaded machine: gives up only when no job has ended for a while. */
async function untilDone(store: Store): Promise<void> {
  for (let last = -1; ; ) {
    const { pending, processing, completed, failed } = await store.stats()
    if (pending + processing === 0) return
    last = Math.max(last, completed + failed)
    await until(async () => {
      const now = await store.stats()
      return now.completed + now.failed > last
    }, 30_000)
  }
}

async function statsOf(child: WorkerProcess) {
  const before = child.told.length
  child.tell({ stats: true })
  await until(() => child.told.slice(before).some((message) => 'stats' in message))
  return child.told.slice(before).flatMap((message) => ('stats' in message ? message.stats : []))
}

async function sumOf(processes: readonly WorkerProcess[]) {
  const all = (await Promise.all(processes.map(statsOf))).flat()
  const sum = (field: 'claimed' | 'settled' | 'stale') =>
    all.reduce((total, stats) => total + stats[field], 0)
  return { claimed: sum('claimed'), settled: sum('settled'), stale: sum('stale') }
}
