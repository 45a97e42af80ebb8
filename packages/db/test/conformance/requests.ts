import type { NewJob } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import { aJob, Bench, claimOne, complete, type Dialect, read, someJobs } from './harness.ts'

const repeated = (job: NewJob): NewJob => ({ ...job, request: 'repeat' })
const aRequest = (options?: Parameters<typeof aJob>[0]): NewJob => ({ ...aJob(options), request: 'first' })

/** Jobs whose ids come from requests that may be sent twice. */
export function describeRequests(dialect: Dialect): void {
  describe('requests that are sent twice', () => {
    const bench = new Bench(dialect)

    it('make one job, whatever became of it', async () => {
      const store = await bench.openWithClock()
      const job = aRequest({ payload: 'x'.repeat(5_000), meta: { agent: 'a1' } })
      const { id } = job
      expect(await store.enqueueWithOutcomes([job])).toEqual([{ id, kind: 'created' }])
      const again = async () => {
        for (const sent of [job, repeated(job)])
          expect(await store.enqueueWithOutcomes([sent])).toEqual([{ id, kind: 'existing' }])
      }
      await again()
      const claimed = await claimOne(store)
      await again()
      await store.settle([complete(claimed)])
      await again()
      expect(await store.stats()).toMatchObject({ pending: 0, completed: 1 })
      await store.requeue([id])
      await again()
      expect(await read(store, id)).toMatchObject({ payload: 'x'.repeat(5_000), meta: { agent: 'a1' } })
    })

    it('make one job also among new ones, with keys and parents, and within one call', async () => {
      const store = await bench.open()
      const [first, other] = [aRequest(), aRequest({ topic: 'sms' })]
      await store.enqueue([first])
      const keyed = aJob({ idempotencyKey: 'k' })
      const child = aRequest({ after: [first.id, other.id, keyed.id] })
      const jobs = [other, first, keyed, child, aJob(), { ...other }]
      const kinds = async () => (await store.enqueueWithOutcomes(jobs)).map(({ kind }) => kind)
      expect(await kinds()).toEqual(['created', 'existing', 'created', 'created', 'created', 'existing'])
      expect((await read(store, child.id)).depsLeft).toBe(3)
      expect(await store.stats()).toMatchObject({ pending: 4, blocked: 1 })
      const chain = [other, child].map(repeated)
      expect((await store.enqueueWithOutcomes(chain)).map(({ kind }) => kind)).toEqual([
        'existing',
        'existing',
      ])
    })

    it('are refused the same way before and after the job exists, if a job waits for itself', async () => {
      const store = await bench.open()
      const [alone, keyed] = [aRequest(), aJob({ idempotencyKey: 'k' })]
      const waiting = [alone, repeated(alone), keyed].map((job) => ({ ...job, after: [job.id] }))
      const pair = [aRequest(), aRequest()] as const
      const circle = [
        { ...pair[0], after: [pair[1].id] },
        { ...pair[1], after: [pair[0].id] },
      ]
      const refusals = async () => {
        for (const jobs of [...waiting.map((job) => [job]), circle, circle.map(repeated)])
          await expect(store.enqueue(jobs)).rejects.toMatchObject({ code: 'DEPENDENCY_CYCLE' })
      }
      await refusals()
      await store.enqueue([alone, keyed, ...pair])
      await refusals()
      expect(await store.stats()).toMatchObject({ pending: 4, blocked: 0 })
    })

    it('are found by id and by key, wherever the other attempt stored the job', async () => {
      const store = await bench.openWithClock()
      const [byId, byKey] = [aRequest(), aJob()]
      const key = aRequest().id
      await store.enqueue([byId])
      const [first = ''] = await store.enqueue([{ ...byKey, idempotencyKey: key }])
      const both = [byId, { ...aRequest(), id: key }].map((job) =>
        repeated({ ...job, idempotencyKey: job.id }),
      )
      const again = async (jobs: readonly NewJob[]) => store.enqueueWithOutcomes(jobs)
      const existing = [byId.id, first].map((id) => ({ id, kind: 'existing' }))
      expect(await again(both)).toEqual(existing)
      await store.settle([complete(await claimOne(store)), complete(await claimOne(store))])
      expect(await again(both.toReversed())).toEqual(existing.toReversed())
      // A job that was never stored is stored once, and again only after a person has deleted it.
      const lost = repeated({ ...aRequest(), idempotencyKey: aRequest().id })
      for (const kind of ['created', 'existing']) expect(await again([lost])).toEqual([{ id: lost.id, kind }])
      await store.delete([lost.id])
      for (const kind of ['created', 'existing']) expect(await again([lost])).toEqual([{ id: lost.id, kind }])
    })

    it('make one job when an attempt with an id meets a repeat with id and key', async () => {
      const [store, other] = [await bench.open(), await bench.open()]
      for (let n = 0; n < 60; n++) {
        const job = aRequest()
        const both = repeated({ ...job, idempotencyKey: job.id })
        const sent = n % 2 === 0 ? [job, both] : [both, job]
        const outcomes = await Promise.all([
          store.enqueueWithOutcomes(sent.slice(0, 1)),
          other.enqueueWithOutcomes(sent.slice(1)),
        ])
        expect(outcomes.flat().map(({ kind }) => kind)).toContain('existing')
        const claimed = await claimOne(store)
        const [, again] = await Promise.all([
          store.settle([complete(claimed)]),
          other.enqueueWithOutcomes([both]),
        ])
        expect(again).toEqual([{ id: job.id, kind: 'existing' }])
        expect((await store.stats()).pending).toBe(0)
      }
    })

    it('make the job again if a person has deleted it, as a repeated idempotency key does', async () => {
      const store = await bench.open()
      const job = aRequest()
      await store.enqueue([job])
      const [keyed = ''] = await store.enqueue([aJob({ idempotencyKey: 'k' })])
      await store.delete([job.id, keyed])
      expect(await store.enqueueWithOutcomes([repeated(job)])).toEqual([{ id: job.id, kind: 'created' }])
      const [again] = await store.enqueueWithOutcomes([aJob({ idempotencyKey: 'k' })])
      expect(again?.kind).toBe('created')
    })

    it('make one job in any order, from two processes', async () => {
      const stores = [await bench.open(), await bench.open()]
      const jobs: NewJob[] = someJobs(50).map((job) => ({ ...job, request: 'first' }))
      const calls = jobs.flatMap((job, n) =>
        [job, repeated(job), job, repeated(job)].map((sent, k) => {
          const others = jobs.slice(n + 1, n + 3).map(k % 2 ? repeated : (other) => other)
          return stores[k % 2]?.enqueueWithOutcomes(k < 2 ? [sent] : [...others, sent])
        }),
      )
      const outcomes = (await Promise.all(calls)).flatMap((outcome) => outcome ?? [])
      expect(outcomes.filter(({ kind }) => kind === 'created')).toHaveLength(jobs.length)
      expect(await stores[0]?.stats()).toMatchObject({ pending: jobs.length })
    })

    it('never run a job twice when they race its completion', async () => {
      const [store, other] = [await bench.open(), await bench.open()]
      for (let n = 0; n < 60; n++) {
        const job = aRequest()
        await store.enqueue([job])
        const claimed = await claimOne(store)
        const [, ...outcomes] = await Promise.all([
          store.settle([complete(claimed)]),
          other.enqueueWithOutcomes([n % 2 === 0 ? job : repeated(job)]),
          other.enqueueWithOutcomes([repeated(job), aRequest()].slice(0, 1 + (n % 3 === 0 ? 1 : 0))),
        ])
        expect(outcomes.map(([first]) => first?.kind)).toEqual(['existing', 'existing'])
        if (n % 3 === 0) await store.settle([complete(await claimOne(store))])
        expect((await store.stats()).pending).toBe(0)
      }
    })
  })
}
