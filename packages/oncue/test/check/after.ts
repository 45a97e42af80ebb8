import { defineJobs, defineWorkers, job } from '@oncue/core'
import { z } from 'zod'

/** The next release: names are changed, and the payload has another field. */
const jobs = defineJobs({
  order: job({ input: z.object({ amount: z.int() }), signals: { bank: z.object({ paid: z.boolean() }) } }),
  child: job({ input: z.unknown() }),
})

export const workers = defineWorkers(jobs, {
  async order(_job, ctx) {
    for (const turn of [1, 2]) await ctx.tool(`look up ${turn}`, { turn }, () => turn)
    await ctx.step('charge', () => 1)
    await ctx.step.each('page', ['a', 'b'], (page) => page)
    await ctx.receive('bank')
  },
})
