import { defineJobs, defineWorkers, type Handlers, isOncueError, type JobContext, job } from '@oncue/core'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { Execution } from './execution.ts'
import { type Bench, describeBoth, Gate } from './harness.ts'

const jobs = defineJobs({
  pages: job({ input: z.unknown(), retry: { max: 3, strategy: 'fixed', baseDelay: 0 } }),
})
type Handle = NonNullable<Handlers<typeof jobs>['pages']>

const on = (bench: Bench, pages: Handle) => Execution.on(bench, defineWorkers(jobs, { pages }))

describeBoth('ctx.step.each', (bench) => {
  it('runs a step for each item once, and returns the results in the order of the items', async () => {
    const ran: string[] = []
    const execution = await on(bench, async (_job, { step, attempt }) => {
      const sizes = await step.each('render', ['a', 'bb', 'ccc'], (url) => {
        ran.push(url)
        if (url === 'ccc' && attempt === 1) throw new Error('gone')
        return url.length
      })
      return sizes
    })
    expect(await execution.run('pages')).toMatchObject({ status: 'pending', retries: 1 })
    const done = await execution.settled(await execution.startNext('pages'))
    expect(done.result).toEqual([1, 2, 3])
    expect(ran).toEqual(['a', 'bb', 'ccc', 'ccc'])
  })

  it('finds the results by their keys when the order has changed', async () => {
    const ran: string[] = []
    const execution = await on(bench, async (_job, { step, attempt }) => {
      const items = attempt === 1 ? ['a', 'bb'] : ['new', 'bb', 'a']
      const key = (url: string) => url
      const sizes = await step.each('render', items, (url) => ran.push(url) && url.length, { key })
      if (attempt === 1) throw new Error('once more')
      return sizes
    })
    await execution.run('pages')
    expect((await execution.settled(await execution.startNext('pages'))).result).toEqual([3, 2, 1])
    expect(ran).toEqual(['a', 'bb', 'new'])
  })

  it('runs so many at once, and no further after a failure', async () => {
    const gate = new Gate()
    const began: number[] = []
    const ended: number[] = []
    const execution = await on(bench, async (_job, { step }) => {
      const work = async (n: number) => {
        began.push(n)
        if (began.length === 2) gate.open()
        await gate.opened
        if (n === 0) throw new TypeError('the first failed')
        ended.push(n)
        return n
      }
      return step
        .each('render', [0, 1, 2, 3], work, { concurrency: 2 })
        .catch((error: Error) => [error.name, ...began, ...ended])
    })
    expect((await execution.run('pages')).result).toEqual(['TypeError', 0, 1, 1])
  })

  it('refuses two items with one key before any step runs', async () => {
    const ran: string[] = []
    const execution = await on(bench, async (_job, { step }) =>
      step
        .each('render', ['a', 'b'], (url) => ran.push(url), { key: () => 'same' })
        .catch((error) => isOncueError(error) && [error.code, error.message]),
    )
    expect((await execution.run('pages')).result).toEqual([
      'DUPLICATE_STEP',
      'ctx.step.each("render"): the items 0 and 1 have the same key "same"',
    ])
    expect(ran).toEqual([])
  })

  it('refuses a concurrency that is no whole number from 1 to 1,000', async () => {
    const execution = await on(bench, async (_job, { step }) => {
      const codes: unknown[] = []
      for (const concurrency of [0, 1.5, 1_001, '2' as never]) {
        const refused = step.each('render', [1], (n) => n, { concurrency })
        await refused.catch((error) => codes.push(isOncueError(error) && error.code))
      }
      return codes
    })
    expect((await execution.run('pages')).result).toEqual(new Array(4).fill('INVALID_INPUT'))
  })
})

describe('the types of step.each', () => {
  it('follow the items and the results', () => {
    const typed = (ctx: JobContext<typeof jobs, 'pages'>) => {
      expectTypeOf(ctx.step.each('a', [1, 2], (n) => ({ at: new Date(n) }))).resolves.toEqualTypeOf<
        { at: string }[]
      >()
      // @ts-expect-error an item is a number
      void ctx.step.each('a', [1, 2], (url: string) => url)
      // @ts-expect-error a result that cannot be stored
      void ctx.step.each('a', [1], () => 1n)
      // @ts-expect-error a key is a text or a number
      void ctx.step.each('a', [1], (n) => n, { key: (n) => ({ n }) })
    }
    expect(typed).toBeTypeOf('function')
  })
})
