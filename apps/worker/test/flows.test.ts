import { defineJobs, defineWorkers, type JobContext, job } from '@oncue/core'
import { createQueue } from '@oncue/db'
import { expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { Execution } from './execution.ts'
import { describeBoth } from './harness.ts'

const jobs = defineJobs({
  page: job({
    input: z.object({ n: z.number() }),
    output: z.object({ at: z.coerce.date() }),
    retry: false,
  }),
  book: job({ input: z.null() }),
})

const workers = defineWorkers(jobs, {
  page: ({ payload }) => {
    if (payload.n === 2) throw new RangeError('no page 2')
    return { at: new Date(payload.n) }
  },
  async book(_, ctx) {
    const pages: unknown[] = []
    for await (const page of ctx.waitedFor('page'))
      pages.push(page.status === 'completed' ? [page.name, page.result.at.getTime()] : page.error?.message)
    let all = 0
    for await (const _ of ctx.waitedFor()) all += 1
    return { pages, all }
  },
})

const book = { topic: 'book', payload: null } as const
const page = (n: number) => ({ topic: 'page', payload: { n } }) as const

describeBoth('what a job has waited for', (bench) => {
  it('is given to the handlers that follow a batch, in its order and by its schemas', async () => {
    const execution = await Execution.on(bench, workers)
    const queue = createQueue({ store: execution.store, jobs })
    const onFailure = book
    await queue.batch([page(1), page(2), page(3)], { onFailure })
    for (let n = 0; n < 3; n++) await execution.settled(await execution.startNext('page'))
    expect(await execution.settled(await execution.startNext('book'))).toMatchObject({
      status: 'completed',
      result: { pages: [[null, 1], 'no page 2', [null, 3]], all: 3 },
    })
  })

  it('is given to a node of a flow, with the names of the nodes', async () => {
    const execution = await Execution.on(bench, workers)
    const queue = createQueue({ store: execution.store, jobs })
    const nodes = { first: page(1), last: page(3), book }
    await queue.flow({
      nodes,
      edges: [
        ['first', 'book'],
        ['last', 'book'],
      ],
    })
    for (let n = 0; n < 2; n++) await execution.settled(await execution.startNext('page'))
    expect(await execution.settled(await execution.startNext('book'))).toMatchObject({
      result: {
        pages: [
          ['first', 1],
          ['last', 3],
        ],
        all: 2,
      },
    })
  })

  it('is nothing for another job', async () => {
    const execution = await Execution.on(bench, workers)
    expect(await execution.run('book', null)).toMatchObject({ result: { pages: [], all: 0 } })
  })
})

it('the topic tells the type of the results', () => {
  const read = async (ctx: JobContext<typeof jobs, 'book'>) => {
    for await (const page of ctx.waitedFor('page')) {
      if (page.status === 'completed') expectTypeOf(page.result).toEqualTypeOf<{ at: Date }>()
      else expectTypeOf(page.result).toEqualTypeOf<undefined>()
    }
    // @ts-expect-error there is no such topic
    ctx.waitedFor('cover')
  }
  expectTypeOf(read).toBeFunction()
})
