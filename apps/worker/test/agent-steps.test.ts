import { defineJobs, defineWorkers, type Handlers, job } from '@oncue/core'
import type { JobDetails } from '@oncue/db'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import { expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { Execution, START } from './execution.ts'
import { type Bench, describeBoth } from './harness.ts'

const jobs = defineJobs({ agent: job({ input: z.unknown(), signals: { go: z.unknown() } }) })
type Handle = NonNullable<Handlers<typeof jobs>['agent']>

const STANDING: Runtime = { ...systemRuntime, monotonic: () => 0 }
const again = { strategy: 'fixed', baseDelay: 0 } as const

async function living(bench: Bench, agent: Handle) {
  const store = await bench.open({ clock: () => new Date(START) })
  const execution = Execution.with(store, defineWorkers(jobs, { agent }), { runtime: STANDING, retry: again })
  return {
    store,
    execution,
    begin: () => execution.run('agent'),
    goOn: async () => execution.settled(await execution.startNext('agent')),
  }
}

const toldBy = ({ events }: JobDetails) =>
  events.filter(({ type }) => !type.startsWith('run_')).map(({ type, data }) => [type, data])

describeBoth('ctx.plan, ctx.node and ctx.tool', (bench) => {
  it('run once for the job, and write what happens into its stream once', async () => {
    const calls: unknown[] = []
    const life = await living(bench, async (_job, { plan, node, tool, receive }) => {
      const todo = await plan('plan', () => ['a', 'b'])
      const size = await node('measure', () => todo.length)
      const found = await tool('search', { size }, async (args, signal) => {
        calls.push([args, signal instanceof AbortSignal])
        return { hits: args.size * 2 }
      })
      await receive('go')
      return { todo, found, ended: await tool('end', undefined, () => undefined) }
    })
    const { id } = await life.begin()
    await life.store.durable.signal({ id, name: 'go', data: '1' })
    const done = await life.goOn()
    expect(done).toMatchObject({ status: 'completed', result: { todo: ['a', 'b'], found: { hits: 4 } } })
    expect(calls).toEqual([[{ size: 2 }, true]])
    expect(toldBy(done)).toEqual([
      ['plan_generated', { name: 'plan', plan: ['a', 'b'] }],
      ['node_started', { name: 'measure' }],
      ['node_finished', { name: 'measure', result: 2 }],
      ['tool_called', { name: 'search', args: { size: 2 } }],
      ['tool_returned', { name: 'search', result: { hits: 4 } }],
      ['tool_called', { name: 'end' }],
      ['tool_returned', { name: 'end' }],
    ])
  })

  it('tell each attempt that was made, with its error', async () => {
    let calls = 0
    const life = await living(bench, (_job, { tool }) =>
      tool(
        'search',
        'x',
        () => {
          calls += 1
          if (calls === 1) throw new TypeError('busy')
          return calls
        },
        { retry: { max: 1, strategy: 'fixed', baseDelay: 0 } },
      ),
    )
    const done = await life.begin()
    expect(done).toMatchObject({ status: 'completed', result: 2 })
    expect(toldBy(done)).toEqual([
      ['tool_called', { name: 'search', args: 'x' }],
      ['tool_returned', { name: 'search', error: { class: 'TypeError', message: 'busy' } }],
      ['tool_called', { name: 'search', args: 'x' }],
      ['tool_returned', { name: 'search', result: 2 }],
    ])
  })

  it('have written the call before it is made, and its return before the outcome is recorded', async () => {
    const seen: string[][] = []
    const life = await living(bench, async ({ id }, { tool, step }) => {
      const types = async () => (await life.store.events.list(id)).map(({ type }) => type)
      await tool('search', 1, async () => {
        seen.push(await types())
        return 1
      })
      const recorded = await life.store.durable.outcomes(id)
      seen.push([...(await types()), ...recorded.map(({ key }) => key)])
      await step('end', () => 1)
    })
    await life.begin()
    expect(seen).toEqual([['tool_called'], ['tool_called', 'tool_returned', 'step:search']])
  })

  it('leave out what is too large for an event, and keep it as the result', async () => {
    const large = 'x'.repeat(70_000)
    const life = await living(bench, async (_job, { tool }) => {
      const result = await tool('echo', large, (text) => text)
      return result.length
    })
    const done = await life.begin()
    expect(done.result).toBe(70_000)
    expect(toldBy(done)).toEqual([
      ['tool_called', { name: 'echo' }],
      ['tool_returned', { name: 'echo' }],
    ])
  })

  it('follow the rules of steps: one name once, nothing within them, arguments and results of JSON', async () => {
    const life = await living(bench, async (_job, { plan, node, tool, step }) => {
      const codeOf = (call: Promise<unknown>) => call.then(() => 'none').catch((error) => error.code)
      const code = await node('node', () => codeOf(tool('inner', 1, () => 1)))
      await step('shared', () => 1)
      return [
        code,
        await codeOf(plan('shared', () => 1)),
        await codeOf(tool('', 1, () => 1)),
        await codeOf(tool('args', 1n as never, () => 1)),
      ]
    })
    expect((await life.begin()).result).toEqual([
      'NESTED_CALL',
      'DUPLICATE_STEP',
      'INVALID_INPUT',
      'UNSAFE_NUMBER',
    ])
  })

  it('say what went wrong to a later run, as a step does', async () => {
    const life = await living(bench, async (_job, { tool, receive }) => {
      const error = await tool('search', 1, () => Promise.reject(new Error('no'))).catch(String)
      await receive('go')
      return error
    })
    const { id } = await life.begin()
    await life.store.durable.signal({ id, name: 'go', data: '1' })
    expect((await life.goOn()).result).toContain('no')
  })
})

it('gives plans, nodes and tools the types of their work', () => {
  defineWorkers(jobs, {
    async agent(_job, { plan, node, tool }) {
      expectTypeOf(plan('p', () => ({ at: new Date() }))).resolves.toEqualTypeOf<{ at: string }>()
      expectTypeOf(node('n', async () => 1)).resolves.toEqualTypeOf<number>()
      const call = tool('t', { q: 'x', n: 1 }, (args) => {
        expectTypeOf(args).toEqualTypeOf<{ q: string; n: number }>()
        return args.q
      })
      expectTypeOf(call).resolves.toEqualTypeOf<string>()
      // @ts-expect-error arguments are stored as JSON
      void tool('u', { when: new Map<string, string>() }, () => 1)
      // @ts-expect-error so are results
      void tool('v', 1, () => new Map<string, string>())
      // @ts-expect-error and plans
      void plan('w', () => 1n)
    },
  })
})
