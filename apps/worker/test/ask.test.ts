import { defineJobs, defineWorkers, type Handlers, type JobContext, job } from '@oncue/core'
import type { JobDetails } from '@oncue/db'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import { expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { Execution, START } from './execution.ts'
import { type Bench, describeBoth } from './harness.ts'

const jobs = defineJobs({ refund: job({ input: z.unknown(), signals: { bank: z.unknown() } }) })
type Handle = NonNullable<Handlers<typeof jobs>['refund']>

const HOUR = 3_600_000
const STANDING: Runtime = { ...systemRuntime, monotonic: () => 0 }
const approval = z.object({ ok: z.boolean(), note: z.string().optional() })

/** One job that asks, and the people who answer. */
async function asking(bench: Bench, refund: Handle) {
  const clock = { ms: START }
  const store = await bench.open({ clock: () => new Date(clock.ms) })
  const execution = Execution.with(store, defineWorkers(jobs, { refund }), { runtime: STANDING })
  const begun = await execution.run('refund')
  return {
    store,
    begun,
    answer: (value: unknown, by = 'anna', name = 'approve') =>
      store.durable.answer({ id: begun.id, name, value: JSON.stringify(value), by }),
    async goOn(ms = 0): Promise<JobDetails> {
      clock.ms += ms
      return execution.settled(await execution.startNext('refund'))
    },
  }
}

describeBoth('ctx.ask', (bench) => {
  it('leaves the worker with its question, and returns the answer and who gave it', async () => {
    const runs: number[] = []
    const life = await asking(bench, async ({ run }, { ask }) => {
      runs.push(run)
      return ask('approve', 'Refund 5 €?', approval)
    })
    expect(life.begun).toMatchObject({
      status: 'blocked',
      waits: { for: [{ kind: 'ask', name: 'approve', until: null }] },
    })
    expect(await life.store.questions()).toMatchObject([
      { name: 'approve', question: 'Refund 5 €?', role: 'operator', schema: { required: ['ok'] } },
    ])
    await life.answer({ ok: true })
    const result = { timedOut: false, value: { ok: true }, by: 'anna' }
    expect(await life.goOn()).toMatchObject({ status: 'completed', result, retries: 0 })
    expect(runs).toEqual([1, 2])
  })

  it('ends with its timeout, and the question with it', async () => {
    const life = await asking(bench, async (_job, { ask }) =>
      ask('approve', 'Refund?', approval, { timeout: '2h', role: 'admin' }),
    )
    expect(await life.store.questions()).toMatchObject([
      { role: 'admin', until: new Date(START + 2 * HOUR), since: new Date(START) },
    ])
    expect(await life.goOn(2 * HOUR)).toMatchObject({ status: 'completed', result: { timedOut: true } })
    expect(await life.store.questions()).toEqual([])
  })

  it('opens again, with its first end, when the schema refuses what JSON Schema could not', async () => {
    const even = z.number().refine((n) => n % 2 === 0, { error: 'is odd' })
    const life = await asking(bench, async (_job, { ask }) =>
      ask('approve', 'How many?', even, { timeout: '2h' }),
    )
    await life.answer(3)
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'pending', waits: { for: [{ kind: 'ask' }] } })
    expect(await life.store.questions()).toMatchObject([
      { refused: expect.stringContaining('is odd'), until: new Date(START + 2 * HOUR) },
    ])
    await life.answer(4, 'ben')
    const result = { timedOut: false, value: 4, by: 'ben' }
    expect(await life.goOn()).toMatchObject({ status: 'completed', result })
  })

  it('has the same winner in every run when it races a signal', async () => {
    const winners: string[] = []
    const life = await asking(bench, async (_job, { ask, receive, sleep }) => {
      const answered = ask('approve', 'Refund?', approval).then(() => 'answer')
      winners.push(await Promise.race([answered, receive('bank').then(() => 'bank')]))
      await sleep('settle', '1h')
      return null
    })
    await life.store.durable.signal({ id: life.begun.id, name: 'bank', data: '1' })
    await life.goOn()
    await life.answer({ ok: true })
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed' })
    expect(winners).toEqual(['bank', 'bank'])
  })

  it('asks several questions at once, each by its name', async () => {
    const life = await asking(bench, async (_job, { ask }) => {
      const both = await Promise.all([
        ask('approve', 'First?', z.boolean()),
        ask('second', 'Second?', z.boolean()),
      ])
      return both.map(({ by }) => by)
    })
    await life.answer(true, 'ben', 'second')
    await life.goOn()
    expect((await life.store.questions()).map(({ name }) => name)).toEqual(['approve'])
    await life.answer(true, 'anna')
    expect(await life.goOn()).toMatchObject({ status: 'completed', result: ['anna', 'ben'] })
  })

  it.each<[string, (ctx: JobContext<typeof jobs, 'refund'>) => Promise<unknown>, string]>([
    [
      'within a step',
      ({ step, ask }) => step('s', async () => void (await ask('a', '?', approval))),
      'NESTED_CALL',
    ],
    [
      'twice by one name',
      ({ ask }) => Promise.all([ask('a', '?', approval), ask('a', '?', approval)]),
      'DUPLICATE_STEP',
    ],
    ['without a question', ({ ask }) => ask('a', ' ', approval), 'INVALID_INPUT'],
    [
      'of a role that may not act',
      ({ ask }) => ask('a', '?', approval, { role: 'viewer' as never }),
      'INVALID_INPUT',
    ],
    ['with a schema that is none', ({ ask }) => ask('a', '?', {} as typeof approval), 'INVALID_INPUT'],
  ])('is refused %s', async (_, call, code) => {
    const life = await asking(bench, async (_job, ctx) => call(ctx).catch((error) => error.code))
    expect(life.begun).toMatchObject({ status: 'completed', result: code })
  })

  it('is typed by its schema', () => {
    const typed = async ({ ask }: JobContext<typeof jobs, 'refund'>) => {
      const said = await ask('a', '?', z.string().transform(Number), { timeout: '2d' })
      if (said.timedOut) {
        expectTypeOf(said.value).toEqualTypeOf<undefined>()
        return
      }
      expectTypeOf(said.value).toEqualTypeOf<number>()
      expectTypeOf(said.by).toEqualTypeOf<string>()
      // @ts-expect-error: a producer cannot answer
      await ask('a', '?', z.string(), { role: 'producer' })
      // @ts-expect-error: no unit of time
      await ask('a', '?', z.string(), { timeout: '2 fortnights' })
    }
    expectTypeOf(typed).returns.toEqualTypeOf<Promise<void>>()
  })
})
