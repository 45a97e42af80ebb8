import type { NewJob } from '@oncue/core'
import { toBatch, toFlow } from '@oncue/core/internal'
import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/store.ts'
import {
  aJob,
  anError,
  Bench,
  claiming,
  complete,
  type Dialect,
  MINUTE,
  newWorkerId,
  read,
  someJobs,
} from './harness.ts'
import { processesOf } from './processes.ts'

type Ending = 'complete' | 'fail' | 'cancel'

/** Three jobs of the topics a, b, c, and what follows them. */
function aBatch(count = 3) {
  const jobs = ['a', 'b', 'c'].slice(0, count).map((topic) => aJob({ topic }))
  const [then, onFailure] = [aJob({ topic: 'then' }), aJob({ topic: 'on_failure' })]
  return { jobs, then, onFailure, all: toBatch(jobs, then, onFailure) }
}

export function describeFlows(dialect: Dialect): void {
  const statusOf = async (store: Store, { id }: { id: string }) => (await read(store, id)).status
  /** Claims the job of a topic and ends its run. */
  async function end(store: Store, topic: string, how: Ending): Promise<void> {
    const { jobs } = await store.claim(claiming({ limit: 1, topics: [topic] }))
    const [job] = jobs
    if (!job) throw new Error(`there is no ${topic} to claim`)
    await store.settle([
      how === 'complete'
        ? complete(job, JSON.stringify(topic))
        : how === 'fail'
          ? { id: job.id, run: job.run, kind: 'fail', error: anError }
          : { id: job.id, run: job.run, kind: 'cancel' },
    ])
  }
  const NOT_NEEDED = { type: 'cancelled', data: { by: null, reason: 'all jobs of its batch completed' } }

  describe('a flow', () => {
    const bench = new Bench(dialect)

    it('waits again for a node that completed and was requeued, by the policy of the node that waits', async () => {
      const store = await bench.open()
      const [a, b, c] = [aJob({ topic: 'a' }), aJob({ topic: 'b' }), aJob({ topic: 'c' })]
      const last = aJob({ topic: 'last', onParentFailure: 'stop' })
      const nodes = new Map(Object.entries({ a, b, c, last }))
      const edges = [
        ['a', 'last'],
        ['b', 'last'],
      ] as const
      await store.enqueue(toFlow(nodes, edges))
      await end(store, 'a', 'complete')
      await end(store, 'c', 'complete')
      await store.requeue([a.id, c.id])
      await end(store, 'b', 'complete')
      expect(await read(store, last.id)).toMatchObject({ status: 'blocked', depsLeft: 1 })
      await end(store, 'a', 'fail')
      expect(await read(store, last.id)).toMatchObject({
        status: 'failed',
        lastError: { code: 'PARENT_FAILED' },
      })
    })
  })

  describe('a batch', () => {
    const bench = new Bench(dialect)
    const { start, tell } = processesOf(dialect)

    it('runs `then` when the last job has completed, and cancels `onFailure`, with the reason', async () => {
      const store = await bench.open()
      const { then, onFailure, all } = aBatch()
      await store.enqueue(all)
      for (const topic of ['a', 'b', 'c']) {
        expect([await statusOf(store, then), await statusOf(store, onFailure)]).toEqual([
          'blocked',
          'blocked',
        ])
        await end(store, topic, 'complete')
      }
      expect(await statusOf(store, then)).toBe('pending')
      expect(await read(store, onFailure.id)).toMatchObject({
        ...{ status: 'cancelled', run: 0 },
        events: [expect.objectContaining(NOT_NEEDED)],
      })
      expect((await store.stats()).cancelled).toBe(1)
    })

    it.each(['fail', 'cancel'] as const)(
      'runs `onFailure` once all have ended, when one did %s, and `then` keeps waiting',
      async (how) => {
        const store = await bench.open()
        const { then, onFailure, all } = aBatch()
        await store.enqueue(all)
        await end(store, 'a', how)
        await end(store, 'b', 'complete')
        expect([await statusOf(store, then), await statusOf(store, onFailure)]).toEqual([
          'blocked',
          'blocked',
        ])
        await end(store, 'c', 'complete')
        expect([await statusOf(store, then), await statusOf(store, onFailure)]).toEqual([
          'blocked',
          'pending',
        ])
      },
    )

    it('a job that is cancelled before it has run counts as one that did not complete', async () => {
      const store = await bench.open()
      const { jobs, onFailure, all } = aBatch(1)
      await store.enqueue(all)
      await store.cancel([jobs[0]?.id ?? ''])
      expect(await statusOf(store, onFailure)).toBe('pending')
    })

    it('runs `then` when the failed job is requeued and completes; `onFailure` has run and does not again', async () => {
      const store = await bench.open()
      const { jobs, then, onFailure, all } = aBatch(2)
      await store.enqueue(all)
      await end(store, 'a', 'fail')
      await end(store, 'b', 'complete')
      await end(store, 'on_failure', 'complete')
      await store.requeue([jobs[0]?.id ?? ''])
      await end(store, 'a', 'fail')
      expect([await statusOf(store, then), await statusOf(store, onFailure)]).toEqual([
        'blocked',
        'completed',
      ])
      await store.requeue([jobs[0]?.id ?? ''])
      await end(store, 'a', 'complete')
      expect([await statusOf(store, then), await statusOf(store, onFailure)]).toEqual([
        'pending',
        'completed',
      ])
    })

    it('waits again for a job that failed and was requeued before the others had ended', async () => {
      const store = await bench.open()
      const { jobs, then, onFailure, all } = aBatch(2)
      await store.enqueue(all)
      await end(store, 'a', 'fail')
      await store.requeue([jobs[0]?.id ?? ''])
      await end(store, 'b', 'complete')
      expect(await read(store, onFailure.id)).toMatchObject({
        status: 'blocked',
        depsLeft: 1,
        visibleAt: null,
      })
      await end(store, 'a', 'complete')
      expect([await statusOf(store, then), await statusOf(store, onFailure)]).toEqual([
        'pending',
        'cancelled',
      ])
    })

    it('the same, when it fails again', async () => {
      const store = await bench.open()
      const { jobs, onFailure, all } = aBatch(2)
      await store.enqueue(all)
      await end(store, 'a', 'fail')
      await store.requeue([jobs[0]?.id ?? ''])
      await end(store, 'b', 'complete')
      await end(store, 'a', 'fail')
      expect(await statusOf(store, onFailure)).toBe('pending')
    })

    it.each(['complete', 'fail'] as const)(
      'waits again, in both, for a job that completed and was requeued from a step or whole, and did %s',
      async (how) => {
        const store = await bench.open()
        const { jobs, then, onFailure, all } = aBatch(2)
        await store.enqueue(all)
        const [first] = jobs
        await end(store, 'a', 'complete')
        await store.requeueFrom({ id: first?.id ?? '', step: null })
        await end(store, 'a', 'complete')
        await store.requeue([first?.id ?? ''])
        await end(store, 'b', 'complete')
        expect([await read(store, then.id), await read(store, onFailure.id)]).toMatchObject([
          { status: 'blocked', depsLeft: 1 },
          { status: 'blocked', depsLeft: 1 },
        ])
        await end(store, 'a', how)
        expect([await statusOf(store, then), await statusOf(store, onFailure)]).toEqual(
          how === 'complete' ? ['pending', 'cancelled'] : ['blocked', 'pending'],
        )
      },
    )

    it('what waits for an `onFailure` that is not needed learns that it was cancelled', async () => {
      const store = await bench.open()
      const { onFailure, all } = aBatch(1)
      const next = aJob({ topic: 'next', after: [onFailure.id], onParentFailure: 'stop' })
      await store.enqueue([...all, next])
      await end(store, 'a', 'complete')
      expect(await read(store, next.id)).toMatchObject({
        status: 'failed',
        lastError: { code: 'PARENT_FAILED' },
      })
    })

    it('is decided at once if its jobs were there before, and have ended', async () => {
      const store = await bench.open()
      const key = { idempotencyKey: 'one' }
      await store.enqueue([aJob({ topic: 'a', ...key })])
      await end(store, 'a', 'complete')
      const [then, onFailure] = [aJob({ topic: 'then' }), aJob({ topic: 'on_failure' })]
      await store.enqueue(toBatch([aJob({ topic: 'a', ...key })], then, onFailure))
      expect([await statusOf(store, then), await statusOf(store, onFailure)]).toEqual([
        'pending',
        'cancelled',
      ])
      expect((await read(store, onFailure.id)).events).toEqual([expect.objectContaining(NOT_NEEDED)])
    })

    it('is decided at once if a job of it ended with an older one', async () => {
      const store = await bench.open()
      const [older] = await store.enqueue([aJob({ topic: 'older' })])
      await end(store, 'older', 'fail')
      const onFailure = aJob({ topic: 'on_failure' })
      await store.enqueue(
        toBatch([aJob({ after: [older ?? ''], onParentFailure: 'stop' })], undefined, onFailure),
      )
      expect(await statusOf(store, onFailure)).toBe('pending')
    })

    it('shows what its jobs have ended with, in their order, to both', async () => {
      const store = await bench.open()
      const { jobs, then, onFailure, all } = aBatch()
      await store.enqueue(all)
      await end(store, 'c', 'complete')
      await end(store, 'b', 'fail')
      await end(store, 'a', 'complete')
      const ended = [
        { id: jobs[0]?.id, topic: 'a', status: 'completed', result: 'a', lastError: null, name: null },
        { id: jobs[1]?.id, topic: 'b', status: 'failed', result: null, lastError: anError, name: null },
        { id: jobs[2]?.id, topic: 'c', status: 'completed', result: 'c', lastError: null, name: null },
      ]
      expect(await store.waitedFor(onFailure.id)).toEqual({ jobs: ended, next: null })
      expect(await store.waitedFor(then.id)).toEqual({ jobs: ended, next: null })
      expect(await store.waitedFor(jobs[0]?.id ?? '')).toEqual({ jobs: [], next: null })
      expect(await store.waitedFor('x')).toEqual({ jobs: [], next: null })
    })

    it('keeps its jobs until what follows them has ended, also from being deleted', async () => {
      const store = await bench.openWithClock()
      const { jobs, then, all } = aBatch(1)
      await store.enqueue(all)
      await end(store, 'a', 'fail')
      bench.clock.advance(MINUTE)
      const prune = async () =>
        (await store.prune({ status: 'failed', finishedBefore: bench.clock.now(), limit: 10 })) +
        (await store.prune({ status: 'completed', finishedBefore: bench.clock.now(), limit: 10 }))
      const ids = jobs.map(({ id }) => id)
      await store.cancel([then.id])
      expect(await store.delete(ids)).toEqual({ done: 0, skipped: { HAS_DEPENDANTS: 1 } })
      expect(await prune()).toBe(0)
      await end(store, 'on_failure', 'complete')
      bench.clock.advance(MINUTE)
      expect(await store.tree(ids[0] ?? '')).toMatchObject({ jobs: [{}, {}, {}] })
      expect(await prune()).toBe(2)
      expect((await store.tree(then.id))?.jobs).toHaveLength(1)
    })

    it('of 5,000 jobs is one enqueue, and is decided after the last of them', async () => {
      const store = await bench.open()
      const jobs = someJobs(5_000)
      const [then, onFailure] = [aJob({ topic: 'then' }), aJob({ topic: 'on_failure' })]
      await store.enqueue(toBatch(jobs, then, onFailure))
      expect((await read(store, then.id)).depsLeft).toBe(5_000)
      for (let left = 5_000; left > 0; ) {
        const { jobs: claimed } = await store.claim(claiming({ limit: 1_000, topics: ['mail_digest'] }))
        await store.settle(claimed.map((job) => complete(job)))
        left -= claimed.length
      }
      expect([await statusOf(store, then), await statusOf(store, onFailure)]).toEqual([
        'pending',
        'cancelled',
      ])
      const read5000: string[] = []
      for (let after: number | null = -1; after !== null; ) {
        const page = await store.waitedFor(then.id, after)
        read5000.push(...page.jobs.map(({ id }) => id))
        after = page.next
      }
      expect(read5000).toEqual(jobs.map(({ id }) => id))
      const tree = await store.tree(jobs[4_000]?.id ?? '')
      expect(tree).toMatchObject({ isComplete: false, counts: { cancelled: 1, pending: 1, completed: 998 } })
      expect(
        tree?.jobs
          .filter(({ name }) => name)
          .map(({ id }) => id)
          .sort(),
      ).toEqual([then.id, onFailure.id].sort())
      expect(tree?.jobs.some(({ id }) => id === jobs[4_000]?.id)).toBe(true)
    })

    it('is decided once, although the last jobs end at the same moment in several processes', async () => {
      const store = await bench.open()
      const batches = Array.from({ length: 20 }, () => {
        const jobs = someJobs(10)
        const [then, onFailure] = [aJob({ queue: 'later' }), aJob({ queue: 'later' })]
        return { then, onFailure, all: toBatch(jobs, then, onFailure) }
      })
      await store.enqueue(batches.flatMap(({ all }) => all))
      const processes = await Promise.all(Array.from({ length: 2 }, () => start(bench.url)))
      await Promise.all(processes.map((child) => tell(child, { do: 'drain', claimers: 4, limit: 7 })))
      for (const { then, onFailure } of batches)
        expect([await statusOf(store, then), await statusOf(store, onFailure)]).toEqual([
          'pending',
          'cancelled',
        ])
    })

    it('survives a process that is killed while it runs a job of it', async () => {
      const store = await bench.open()
      const { onFailure, all } = aBatch(1)
      await store.enqueue(all.map((job) => ({ ...job, maxRetries: 0 })))
      const child = await start(bench.url)
      await tell(child, { do: 'hold', worker: newWorkerId(), limit: 1, start: 0, leaseMs: 1 })
      child.kill('SIGKILL')
      await expect
        .poll(async () => {
          await store.rescue()
          return store.claim(claiming({ limit: 1, topics: ['a'] }))
        })
        .toMatchObject({ jobs: [{ run: 2 }] })
      expect(await statusOf(store, onFailure)).toBe('blocked')
      const { run } = await read(store, all[0]?.id ?? '')
      await store.settle([{ id: all[0]?.id ?? '', run, kind: 'fail', error: anError }])
      expect(await statusOf(store, onFailure)).toBe('pending')
    })

    it.each(dialect.transactions)('is part of the transaction of a caller: $name', async ({ run }) => {
      const store = await bench.open()
      const { jobs, then, onFailure, all } = aBatch()
      const undone = run(bench.url, async (tx) => {
        await store.enqueue(all, { tx })
        throw new Error('rolled back')
      })
      await expect(undone).rejects.toThrow('rolled back')
      for (const { id } of all) expect(await store.get(id)).toBeNull()
      await run(bench.url, (tx) => store.enqueue(all, { tx }))
      expect((await store.tree(then.id))?.jobs.map(({ id }) => id)).toEqual(all.map(({ id }) => id).sort())
      for (const topic of ['a', 'b', 'c']) await end(store, topic, 'complete')
      // On Postgres edges are checked by the poll after the commit.
      await store.rescue()
      expect([await statusOf(store, then), await statusOf(store, onFailure)]).toEqual([
        'pending',
        'cancelled',
      ])
      expect(jobs).toHaveLength(3)
    })
  })

  describe('a tree', () => {
    const bench = new Bench(dialect)

    const aFlow = () => {
      const nodes = new Map<string, NewJob>(
        ['fetch', 'resize', 'scan', 'publish'].map((topic) => [topic, aJob({ topic })]),
      )
      const all = toFlow(nodes, [
        ['fetch', 'resize'],
        ['fetch', 'scan'],
        ['resize', 'publish'],
        ['scan', 'publish'],
      ])
      const id = (name: string) => nodes.get(name)?.id ?? ''
      return { all, id }
    }

    it('of a flow is the same from each of its jobs, and after they have ended', async () => {
      const store = await bench.open()
      const { all, id } = aFlow()
      await store.enqueue(all)
      const seen = async (from: string) => {
        const tree = await store.tree(id(from))
        expect(tree).toMatchObject({ id: id(from), isComplete: true, childrenAreComplete: true })
        return tree?.jobs.map(({ name, status, after }) => ({ name, status, after }))
      }
      const expected = (status: (name: string) => string) =>
        [
          { name: 'fetch', after: [] },
          { name: 'resize', after: [id('fetch')] },
          { name: 'scan', after: [id('fetch')] },
          { name: 'publish', after: [id('resize'), id('scan')].sort() },
        ].map((job) => ({ ...job, status: status(job.name) }))
      const byId = (jobs: ReturnType<typeof expected>) =>
        jobs.sort((a, b) => (id(a.name) < id(b.name) ? -1 : 1))
      for (const from of ['fetch', 'scan', 'publish'])
        expect(await seen(from)).toEqual(byId(expected((name) => (name === 'fetch' ? 'pending' : 'blocked'))))
      for (const topic of ['fetch', 'resize', 'scan', 'publish']) await end(store, topic, 'complete')
      for (const from of ['fetch', 'scan', 'publish'])
        expect(await seen(from)).toEqual(byId(expected(() => 'completed')))
      expect((await store.waitedFor(id('publish'))).jobs.map(({ name, result }) => [name, result])).toEqual([
        ['resize', 'resize'],
        ['scan', 'scan'],
      ])
    })

    it('has parents, children, what they wait for, and counts each job once', async () => {
      const store = await bench.open()
      const root = aJob({ topic: 'root' })
      await store.enqueue([root])
      const child = aJob({ topic: 'child', parentId: root.id })
      await store.enqueue([child])
      const grandchild = aJob({ topic: 'grandchild', parentId: child.id })
      const next = aJob({ topic: 'next', after: [child.id] })
      await store.enqueue([grandchild, next, aJob({ topic: 'other' })])
      await end(store, 'root', 'complete')
      await end(store, 'grandchild', 'fail')
      for (const { id } of [root, child, grandchild, next]) {
        const tree = await store.tree(id)
        expect(tree?.jobs.map(({ topic, parentId, after }) => [topic, parentId, after])).toEqual(
          [root, child, grandchild, next]
            .sort((a, b) => (a.id < b.id ? -1 : 1))
            .map((job) => [job.topic, job.parentId, job === next ? [child.id] : []]),
        )
        expect(tree).toMatchObject({
          id,
          isComplete: true,
          counts: {
            completed: 1,
            pending: 1,
            failed: 1,
            blocked: 1,
            undoing: 0,
            suspended: 0,
            processing: 0,
            cancelled: 0,
          },
        })
      }
      expect((await store.tree(grandchild.id))?.jobs.find(({ id }) => id === grandchild.id)).toMatchObject({
        error: { class: 'TypeError', message: 'userId is not a string', code: null },
      })
    })

    it('of a chain of 150 jobs ends after 100 levels, and says so', async () => {
      const store = await bench.open()
      const chain: NewJob[] = []
      for (let n = 0; n < 150; n++) {
        const last = chain.at(-1)
        chain.push(aJob({ after: last ? [last.id] : [] }))
      }
      await store.enqueue(chain)
      expect(await store.tree(chain[0]?.id ?? '')).toMatchObject({
        isComplete: false,
        counts: { pending: 1, blocked: 99 },
      })
    })

    it('of a plain job is that job; of none, null', async () => {
      const store = await bench.open()
      const job = aJob()
      await store.enqueue([job])
      expect(await store.tree(job.id)).toMatchObject({
        id: job.id,
        jobs: [{ id: job.id, after: [], name: null }],
      })
      expect(await store.tree(newWorkerId())).toBeNull()
      expect(await store.tree('x')).toBeNull()
    })
  })
}
