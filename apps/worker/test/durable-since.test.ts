import { defineJobs, defineWorkers, type Handlers, job } from '@oncue/core'
import type { Store } from '@oncue/db'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { Execution, START } from './execution.ts'
import { type Bench, describeBoth } from './harness.ts'

const jobs = defineJobs({
  order: job({
    input: z.unknown(),
    signals: { bank: z.null() },
    retry: { max: 3, strategy: 'fixed', baseDelay: 0 },
  }),
})
type Handle = NonNullable<Handlers<typeof jobs>['order']>

const HOUR = 3_600_000

/** One store, and a worker for each version of the code. */
class Deploys {
  readonly store: Store
  readonly #clock: { ms: number }

  private constructor(store: Store, clock: { ms: number }) {
    this.store = store
    this.#clock = clock
  }

  static async on(bench: Bench): Promise<Deploys> {
    const clock = { ms: START }
    return new Deploys(await bench.open({ clock: () => new Date(clock.ms) }), clock)
  }

  deploy(order: Handle): Execution {
    return Execution.with(this.store, defineWorkers(jobs, { order }))
  }

  async goOn(execution: Execution, ms = HOUR) {
    this.#clock.ms += ms
    return execution.settled(await execution.startNext('order'))
  }
}

describeBoth('ctx.since', (bench) => {
  it('keeps jobs that slept through a deployment on their old way', async () => {
    const deploys = await Deploys.on(bench)
    const old = deploys.deploy(async (_job, { step, sleep }) => {
      await step('charge', () => 'by card')
      await sleep('settle', '1h')
    })
    await old.run('order')

    const changed = deploys.deploy(async (_job, { step, sleep, since }) => {
      const isChecked = await since('fraud check')
      if (isChecked) await step('check', () => 'checked')
      await step('charge', () => 'by card')
      await sleep('settle', '1h')
      const isMailed = await since('mails')
      await sleep('rest', '1h')
      // Asked again, in this run and in the next.
      return [isChecked, await since('fraud check'), isMailed, await since('mails')]
    })
    await deploys.goOn(changed)
    expect((await deploys.goOn(changed)).result).toEqual([false, false, true, true])

    await changed.run('order')
    await deploys.goOn(changed)
    expect((await deploys.goOn(changed)).result).toEqual([true, true, true, true])
  })

  it('is false before a wait that an earlier run had come to, and true after it', async () => {
    const deploys = await Deploys.on(bench)
    const wait: Record<string, Handle> = {
      sleep: (_job, { sleep }) => sleep('first', '1h'),
      timeout: (_job, { receive }) => receive('bank', { timeout: '1h' }),
      receive: (_job, { receive }) => receive('bank'),
    }
    for (const [kind, waits] of Object.entries(wait)) {
      const { id } = await deploys.deploy(waits).run('order')
      if (kind === 'receive') await deploys.store.durable.signal({ id, name: 'bank', data: 'null' })
      const changed = deploys.deploy(async (running, ctx) => {
        const before = await ctx.since('before')
        await waits(running, ctx)
        return [before, await ctx.since('after')]
      })
      expect([kind, (await deploys.goOn(changed)).result]).toEqual([kind, [false, true]])
    }
  })

  it('is decided once, whatever a later run would decide', async () => {
    const deploys = await Deploys.on(bench)
    const execution = deploys.deploy(async (_job, { step, since, attempt }) => {
      const first = await since('change')
      await step(`step ${attempt}`, () => 1)
      if (attempt === 1) throw new Error('once more')
      return first
    })
    await execution.run('order')
    expect((await deploys.goOn(execution)).result).toBe(true)
  })

  it('needs a name, and is refused within a step', async () => {
    const deploys = await Deploys.on(bench)
    const execution = deploys.deploy(async (_job, { step, since }) => {
      const unnamed = await since('').catch((error) => error.code)
      const nested = await step('a', () => since('b').catch((error) => error.code as string))
      return [unnamed, nested]
    })
    expect((await execution.run('order')).result).toEqual(['INVALID_INPUT', 'NESTED_CALL'])
  })
})
