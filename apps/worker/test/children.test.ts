import { ChildrenFailed, defineJobs, defineWorkers, type Handlers, job } from '@oncue/core'
import type { JobDetails, Store } from '@oncue/db'
import { expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { Execution } from './execution.ts'
import { type Bench, describeBoth } from './harness.ts'

const jobs = defineJobs({
  book: job({ input: z.object({}).default({}), retry: { max: 2, strategy: 'fixed', baseDelay: 0 } }),
  page: job({
    input: z.object({ n: z.number() }),
    output: z.object({ bytes: z.number() }),
    retry: false,
  }),
})
type Handle = NonNullable<Handlers<typeof jobs>['book']>

/** A parent and its children, run one by one. */
class Family {
  readonly execution: Execution
  /** The pages that fail. */
  readonly failing: Set<number>
  id = ''

  private constructor(execution: Execution, failing: Set<number>) {
    this.execution = execution
    this.failing = failing
  }

  static async on(bench: Bench, book: Handle, failing: readonly number[] = []): Promise<Family> {
    const broken = new Set(failing)
    const workers = defineWorkers(jobs, {
      book,
      page: ({ payload }) => {
        if (broken.has(payload.n)) throw new RangeError(`no page ${payload.n}`)
        return { bytes: payload.n * 100 }
      },
    })
    return new Family(await Execution.on(bench, workers), broken)
  }

  get store(): Store {
    return this.execution.store
  }

  async begin(): Promise<JobDetails> {
    const done = await this.execution.run('book', {})
    this.id = done.id
    return done
  }

  async goOn(): Promise<JobDetails> {
    return this.execution.settled(await this.execution.startNext('book'))
  }

  async page(): Promise<JobDetails> {
    return this.execution.settled(await this.execution.startNext('page'))
  }

  async book(): Promise<JobDetails> {
    const found = await this.store.get(this.id)
    if (!found) throw new Error('the parent is gone')
    return found
  }

  async pages() {
    return (await this.store.list({ topic: 'page' })).items
  }
}

describeBoth('ctx.all', (bench) => {
  it('waits outside of the worker and returns the results in order, whatever ends first', async () => {
    const family = await Family.on(bench, async (_job, ctx) => {
      const pages = await ctx.all([3, 1, 2].map((n) => ctx.spawn('page', { n })))
      expectTypeOf(pages).toEqualTypeOf<{ bytes: number }[]>()
      const [one] = await ctx.all([ctx.spawn('page', { n: 4 })])
      expectTypeOf(one).toEqualTypeOf<{ bytes: number }>()
      return [...pages, one].map(({ bytes }) => bytes)
    })
    expect(await family.begin()).toMatchObject({
      status: 'blocked',
      waits: { for: [{ kind: 'children', children: { left: 3, total: 3 } }] },
    })
    await family.page()
    expect((await family.book()).waits?.for).toMatchObject([{ children: { left: 2, total: 3 } }])
    await family.page()
    await family.page()
    expect(await family.book()).toMatchObject({ status: 'pending', waits: null })
    expect(await family.goOn()).toMatchObject({ status: 'blocked', run: 2 })
    await family.page()
    expect(await family.goOn()).toMatchObject({
      status: 'completed',
      run: 3,
      retries: 0,
      result: [300, 100, 200, 400],
    })
    expect(await family.pages()).toHaveLength(4)
  })

  it('of children that have ended before returns at once', async () => {
    const family = await Family.on(bench, async (_job, ctx) => {
      const page = ctx.spawn('page', { n: 1 })
      await page
      await family.page()
      return ctx.all([page])
    })
    expect(await family.begin()).toMatchObject({ status: 'completed', run: 1, result: [{ bytes: 100 }] })
  })

  it('of none returns none, and refuses what was not spawned', async () => {
    const family = await Family.on(bench, async (_job, { all }) => {
      const refused = await all(['x'] as never).catch(({ code }) => code)
      return [await all([]), refused]
    })
    expect(await family.begin()).toMatchObject({ result: [[], 'INVALID_INPUT'] })
  })

  it('waits for the last child, then throws what failed, and the job is not retried', async () => {
    const family = await Family.on(
      bench,
      async (_job, ctx) => ctx.all([1, 2, 3].map((n) => ctx.spawn('page', { n }))),
      [1, 2],
    )
    await family.begin()
    await family.page()
    expect(await family.book()).toMatchObject({ status: 'blocked' })
    await family.page()
    await family.page()
    const { status, lastError } = await family.goOn()
    expect([status, lastError?.class, lastError?.code]).toEqual([
      'failed',
      'ChildrenFailed',
      'CHILDREN_FAILED',
    ])
    expect(lastError?.message).toMatch(/^2 of 3 children did not complete: .*no page 1.*no page 2/)
  })

  it('that the handler survived has the same end in every run, whatever becomes of the child', async () => {
    const seen: unknown[] = []
    const family = await Family.on(
      bench,
      async (_job, ctx) => {
        const error = await ctx.all([ctx.spawn('page', { n: 1 })]).catch((thrown: unknown) => thrown)
        if (error instanceof ChildrenFailed) seen.push(error.children[0]?.error?.message)
        await ctx.sleep('later', '1h')
      },
      [1],
    )
    await family.begin()
    const { id } = await family.page()
    await family.goOn()
    family.failing.clear()
    await family.store.requeue([id])
    await family.page()
    await family.store.durable.outcomes(family.id)
    expect(seen).toEqual(['no page 1'])
  })

  it('in a race leaves the children for later', async () => {
    const family = await Family.on(bench, async (_job, ctx) => {
      const pages = ctx.all([ctx.spawn('page', { n: 1 })])
      const first = await Promise.race([pages, ctx.sleep('short', 0).then(() => 'slept')])
      return [first, await pages]
    })
    await family.begin()
    await family.page()
    expect(await family.goOn()).toMatchObject({ result: ['slept', [{ bytes: 100 }]] })
  })
})

describeBoth('ctx.allSettled', (bench) => {
  it('says of each child how it ended', async () => {
    const family = await Family.on(
      bench,
      async (_job, ctx) => {
        const pages = await ctx.allSettled([ctx.spawn('page', { n: 1 }), ctx.spawn('page', { n: 2 })])
        return pages.map((page) =>
          page.status === 'fulfilled' ? page.value.bytes : [page.reason.status, page.reason.error?.message],
        )
      },
      [1],
    )
    await family.begin()
    await family.page()
    await family.page()
    expect(await family.goOn()).toMatchObject({ status: 'completed', result: [['failed', 'no page 1'], 200] })
  })
})

describeBoth('ctx.spawn', (bench) => {
  it('makes a child once, also when the run fails and is repeated', async () => {
    let failures = 1
    const family = await Family.on(bench, async (_job, ctx) => {
      const ids = [await ctx.spawn('page', { n: 1 }), await ctx.enqueue('page', { n: 2 })]
      if (failures-- > 0) throw new Error('once more')
      return ids
    })
    await family.begin()
    const { status, result } = await family.goOn()
    expect(status).toBe('completed')
    const pages = await family.pages()
    expect(pages.map(({ id }) => id).sort()).toEqual([...(result as string[])].sort())
  })

  it('refuses another payload for the same call, and is found by its name', async () => {
    let run = 0
    const family = await Family.on(bench, async (_job, ctx) => {
      run += 1
      await ctx.spawn('page', { n: 1 }, { name: 'first' })
      await ctx.spawn('page', { n: run })
      throw new Error('once more')
    })
    await family.begin()
    expect((await family.goOn()).lastError).toMatchObject({ code: 'SPAWN_CHANGED' })
    expect(await family.pages()).toHaveLength(2)
  })

  it('refuses a name that was used before, and a call within a step', async () => {
    const family = await Family.on(bench, async (_job, ctx) => {
      const again = (name: string) =>
        ctx.spawn('page', { n: 1 }, { name }).then(
          () => 'made',
          ({ code }) => code,
        )
      const codes = [await again('a'), await again('a'), await again('')]
      const nested = await ctx.step('s', () => again('b'))
      return [...codes, nested]
    })
    expect(await family.begin()).toMatchObject({
      result: ['made', 'DUPLICATE_STEP', 'INVALID_INPUT', 'NESTED_CALL'],
    })
  })

  it('that is not awaited is written before the run ends', async () => {
    const family = await Family.on(bench, async (_job, ctx) => {
      void ctx.spawn('page', { n: 1 })
    })
    expect(await family.begin()).toMatchObject({ status: 'completed' })
    expect(await family.pages()).toHaveLength(1)
  })

  it('that the store refuses does not keep the others of its turn from being made', async () => {
    const unique = { key: 'taken', onConflict: 'reject' } as const
    const family = await Family.on(bench, async (_job, ctx) => {
      const made = [
        ctx.spawn('page', { n: 1 }),
        ctx.spawn('page', { n: 2 }, { unique }),
        ctx.spawn('page', { n: 3 }, { unique }),
      ]
      return (await Promise.allSettled(made)).map(({ status }) => status)
    })
    expect(await family.begin()).toMatchObject({ result: ['fulfilled', 'fulfilled', 'rejected'] })
    expect(await family.pages()).toHaveLength(2)
  })
})

describeBoth('the family of a job', (bench) => {
  const all: Handle = async (_job, ctx) => ctx.all([1, 2, 3].map((n) => ctx.spawn('page', { n })))

  it('is cancelled with it, but for those that are to be left', async () => {
    const family = await Family.on(bench, async (_job, ctx) => {
      await ctx.all([
        ctx.spawn('page', { n: 1 }),
        ctx.spawn('page', { n: 2 }, { onParentCancel: 'leave' }),
        ctx.spawn('page', { n: 3 }),
      ])
    })
    await family.begin()
    const running = await family.execution.startNext('page')
    await family.store.cancel([family.id])
    const pages = new Map(
      (await family.pages()).map(({ id, status, cancelAt }) => [id, { status, cancelAt }]),
    )
    expect([...pages.values()].map(({ status }) => status).sort()).toEqual([
      'cancelled',
      'pending',
      'processing',
    ])
    expect(pages.get(running.job.id)?.cancelAt).not.toBeNull()
  })

  it('is requeued by one of its failed children: the parent goes on with their results', async () => {
    const family = await Family.on(bench, all, [1, 2])
    await family.begin()
    for (let n = 0; n < 3; n++) await family.page()
    expect(await family.goOn()).toMatchObject({ status: 'failed' })
    family.failing.clear()
    const failed = (await family.pages()).find(({ status }) => status === 'failed')
    await family.store.requeue([failed?.id ?? ''])
    expect(await family.goOn()).toMatchObject({
      status: 'blocked',
      waits: { for: [{ children: { left: 2, total: 3 } }] },
    })
    await family.page()
    await family.page()
    expect(await family.goOn()).toMatchObject({
      status: 'completed',
      result: [{ bytes: 100 }, { bytes: 200 }, { bytes: 300 }],
    })
  })

  it('waits again for a failed child that is requeued meanwhile', async () => {
    const family = await Family.on(bench, all, [1, 2, 3])
    await family.begin()
    const { id } = await family.page()
    await family.page()
    family.failing.clear()
    await family.store.requeue([id])
    await family.page()
    expect(await family.book()).toMatchObject({ status: 'blocked' })
    await family.page()
    expect((await family.goOn()).lastError?.message).toMatch(/^1 of 3 children/)
  })
})
