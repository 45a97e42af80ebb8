import { defineJobs, defineWorkers, job, prepareJob } from '@oncue/core'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { startWorker } from '../src/index.ts'
import { CHILDREN } from './config.ts'
import { describeBoth, TestLog, until } from './harness.ts'

const jobs = defineJobs({
  sum: job({ input: z.object({ count: z.int() }) }),
  part: job({
    input: z.object({ n: z.int() }),
    output: z.object({ n: z.int() }),
    retry: { max: 1, strategy: 'fixed', baseDelay: 0 },
  }),
})

describeBoth('a job with many children', (bench) => {
  it('of which some fail once is resumed once, with all results in order', { timeout: 600_000 }, async () => {
    const store = await bench.open()
    const resumed: number[] = []
    const workers = defineWorkers(jobs, {
      async sum({ payload, run }, ctx) {
        const parts = Array.from({ length: payload.count }, (_, n) => ctx.spawn('part', { n }))
        const results = await ctx.all(parts)
        resumed.push(run)
        return results.map(({ n }) => n)
      },
      part: ({ payload, retries }) => {
        if (payload.n % 20 === 0 && retries === 0) throw new Error('not yet')
        return payload
      },
    })
    const worker = await startWorker({ store, workers, concurrency: 100, log: new TestLog() })
    bench.defer(() => worker.stop())
    const [id = ''] = await store.enqueue([prepareJob('sum', { count: CHILDREN })])
    await until(async () => (await store.get(id))?.status === 'completed', 600_000)
    expect(await store.get(id)).toMatchObject({
      run: 2,
      result: Array.from({ length: CHILDREN }, (_, n) => n),
    })
    expect(resumed).toEqual([2])
    const { total } = await store.list({ topic: 'part', status: 'completed' })
    expect(total).toBe(CHILDREN)
    const { items } = await store.list({ topic: 'part' }, { limit: Math.min(CHILDREN, 1_000) })
    expect(items.filter(({ retries }) => retries === 1)).toHaveLength(Math.ceil(items.length / 20))
  })
})
