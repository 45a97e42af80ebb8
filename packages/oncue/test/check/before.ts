import { defineJobs, defineWorkers, job } from '@oncue/core'
import { z } from 'zod'
import { notify } from './tools.ts'

/** The release that runs. */
const ok = z.object({ ok: z.boolean() })
const jobs = defineJobs({
  order: job({ input: z.object({ cents: z.int() }), signals: { bank: ok } }),
  child: job({ input: z.unknown() }),
})

const CHARGE = 'charge'

export const workers = defineWorkers(jobs, {
  child: () => {},
  async order(_job, ctx) {
    const { step, tool, receive, ask, since, undo } = ctx
    // The test has the transactions.
    const commit = ctx.commit as unknown as (name: string, work: () => unknown) => Promise<unknown>
    await since('fraud check')
    await undo('refund', () => {})
    await commit('book', () => 1)
    for (const turn of [1, 2]) await tool(`search ${turn}`, { turn }, () => turn)
    await step(CHARGE, () => 1)
    await step.each('render', ['a', 'b'], (page) => page)
    await ctx.spawn('child', 1)
    await ctx.spawn('child', 2, { name: 'second' })
    await receive('bank')
    await ask('approve', 'Ok?', ok)
    await notify(ctx)
  },
})
