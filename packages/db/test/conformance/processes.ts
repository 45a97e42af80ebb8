import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { eventually, observeFor } from '@oncue/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/open.ts'
import { DEFAULT_SCHEMA } from '../../src/schema.ts'
import type { Answers, Command } from './child.ts'
import { aJob, Bench, claiming, complete, type Dialect, newWorkerId, read, someJobs } from './harness.ts'

/** Child processes for the tests of one `describe`, killed after each test. Call it after `new Bench`. */
export function processesOf({ schema = DEFAULT_SCHEMA }: Dialect) {
  const children: ChildProcess[] = []
  // Hooks run last to first: the processes must be gone before their database is.
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
  })

  return {
    async start(url: string): Promise<ChildProcess> {
      const child = fork(new URL('./child.ts', import.meta.url), [url, schema], { execArgv: [] })
      children.push(child)
      await once(child, 'message')
      return child
    },

    async tell<C extends Command>(child: ChildProcess, command: C): Promise<Answers[C['do']]> {
      child.send(command)
      const [answer] = await once(child, 'message')
      return answer
    },
  }
}

/** Real processes, ended by real signals. */
export function describeProcesses(dialect: Dialect): void {
  describe('several processes', () => {
    const bench = new Bench(dialect)
    const { start, tell } = processesOf(dialect)

    it('100 claimers in 4 processes share 10 000 jobs, and each job goes to one of them', async () => {
      const store = await bench.open()
      const ids = await store.enqueue(someJobs(10_000))
      const processes = await Promise.all(Array.from({ length: 4 }, () => start(bench.url)))
      const drained = await Promise.all(
        processes.map((child) => tell(child, { do: 'drain', claimers: 25, limit: 20 })),
      )
      const claimed = drained.flatMap((answer) => answer.claimed)
      expect(claimed).toHaveLength(10_000)
      expect(new Set(claimed)).toEqual(new Set(ids))
      expect(drained.every((answer) => answer.stale === 0)).toBe(true)
      expect(await store.stats()).toMatchObject({ completed: 10_000, pending: 0, processing: 0 })
    })

    it('can open the same database by the url that the store reports', async () => {
      const store = await bench.open()
      const [id = ''] = await store.enqueue([aJob()])
      const second = await openStore(store.url, { schema: store.schema })
      expect(await second.get(id)).toMatchObject({ id, status: 'pending' })
      await second.close()
    })

    // Reason for the skip: behind a transaction pooler a death shows only when the lease expires (`sessions`).
    const itSees = it.skipIf(dialect.pooled)
    itSees(
      'frees the runs of a worker killed with SIGKILL, and charges only those that had started',
      async () => {
        const store = await bench.open()
        await store.enqueue(someJobs(3))
        const worker = newWorkerId()
        const child = await start(bench.url)
        const { ids } = await tell(child, { do: 'hold', worker, limit: 3, start: 2, leaseMs: 60_000 })
        await store.lead('maintenance', worker, 600_000)
        expect(await store.rescue()).toEqual({ rescued: [], lookAgainMs: null })
        child.kill('SIGKILL')
        await eventually(async () =>
          expect((await store.rescue()).rescued).toEqual([{ worker, released: 3, failed: 0 }]),
        )
        expect((await store.rescue()).rescued).toEqual([])
        const jobs = await Promise.all(ids.map((id) => read(store, id)))
        expect(jobs).toMatchObject([
          { status: 'pending', crashes: 1, retries: 0 },
          { status: 'pending', crashes: 1, retries: 0 },
          { status: 'pending', crashes: 0, retries: 0 },
        ])
        expect(await store.lead('maintenance', newWorkerId(), 1_000)).toBe(true)
        const again = await store.claim(claiming())
        expect(again.jobs).toHaveLength(3)
        expect(again.jobs.every((job) => job.run === 2)).toBe(true)
      },
    )

    it('refuses a worker that was paused for longer than its lease and comes back', async () => {
      const store = await bench.open()
      await store.enqueue([aJob()])
      const child = await start(bench.url)
      const { ids } = await tell(child, {
        do: 'hold',
        worker: newWorkerId(),
        limit: 1,
        start: 1,
        leaseMs: 200,
      })
      child.kill('SIGSTOP')
      await expect
        .poll(
          async () => {
            const { jobs } = await store.claim(claiming({ limit: 1 }))
            await store.settle(jobs.map((job) => complete(job, '"by the other"')))
            return jobs.length
          },
          { timeout: 5_000 },
        )
        .toBe(1)
      child.kill('SIGCONT')
      expect(await tell(child, { do: 'settle' })).toEqual({ stale: ids })
      expect(await read(store, ids[0] ?? '')).toMatchObject({
        status: 'completed',
        result: 'by the other',
        run: 2,
      })
    })

    it('keeps the runs of a worker that leaves on purpose until their leases expire', async () => {
      const store = await bench.open()
      await store.enqueue([aJob()])
      const id = newWorkerId()
      const presence = await store.attend({
        id,
        host: 'h',
        pid: 1,
        queues: ['default'],
        concurrency: 1,
        version: '0',
      })
      const { jobs } = await store.claim(claiming({ worker: id }))
      await presence.leave()
      await presence.leave()
      expect((await store.rescue()).rescued).toEqual([])
      expect(await store.settle(jobs.map((job) => complete(job)))).toMatchObject({ stale: [] })
    })

    it('a worker that rescues others refreshes its own heartbeat, every few seconds', async () => {
      const store = await bench.openWithClock()
      const id = newWorkerId()
      await store.attend({ id, host: 'h', pid: 1, queues: [], concurrency: 1, version: '0' })
      const start = bench.clock.now()
      const lastBeat = async () => (await store.workers())[0]?.lastBeat
      bench.clock.advance(4_999)
      await store.rescue(id)
      expect(await lastBeat()).toEqual(start)
      bench.clock.advance(1)
      await store.rescue()
      expect(await lastBeat()).toEqual(start)
      await store.rescue(id)
      expect(await lastBeat()).toEqual(bench.clock.now())
    })

    const { cutPresence } = dialect
    // Reason for the skip: a process that lets go of a file counts as dead at once (capability `connections`).
    it.skipIf(!cutPresence)('says when to check again on a missing worker', async () => {
      const store = await bench.open()
      const worker = newWorkerId()
      const child = await start(bench.url)
      await tell(child, { do: 'hold', worker, limit: 1, start: 1, leaseMs: 60_000 })
      child.kill('SIGKILL')
      await expect.poll(async () => (await store.rescue()).lookAgainMs, { interval: 20 }).not.toBeNull()
      const { lookAgainMs } = await store.rescue()
      expect(lookAgainMs).toBeGreaterThanOrEqual(100)
      expect(lookAgainMs).toBeLessThanOrEqual(5_000)
      await expect.poll(async () => (await store.rescue()).rescued).toMatchObject([{ worker }])
      expect((await store.rescue()).lookAgainMs).toBeNull()
    })

    // Reason for the skip: a SQLite file has no connection that could blink (capability `connections`).
    it.skipIf(!cutPresence)('a worker whose connection drops briefly keeps its runs', async () => {
      const store = await bench.open()
      await store.enqueue([aJob()])
      const worker = newWorkerId()
      const child = await start(bench.url)
      await tell(child, { do: 'hold', worker, limit: 1, start: 1, leaseMs: 60_000 })
      await cutPresence?.(bench.url, worker)
      // Observed for longer than it takes to declare a worker dead.
      await observeFor(2_500, async () => expect((await store.rescue()).rescued).toEqual([]))
      expect(await tell(child, { do: 'settle' })).toEqual({ stale: [] })
    })
  })
}
