import { defineJobs, defineWorkers, job } from '@oncue/core'
import { z } from 'zod'

const jobs = defineJobs({
  refund: job({
    input: z.object({ order: z.string(), cents: z.int() }),
    signals: {
      bank: z.object({ reference: z.string().min(3), ok: z.boolean() }),
      recall: z.object({}),
    },
  }),
  notify: job({ input: z.object({ order: z.string() }) }),
})

const approval = z
  .object({
    ok: z.boolean().meta({ title: 'Pay the money back?' }),
    note: z.string().max(200).optional().meta({ title: 'Note', description: 'Shown to the customer' }),
    // Not in the JSON Schema: only the job itself refuses it.
  })
  .refine(({ ok, note }) => ok || note !== undefined, 'a refusal needs a note')

/** A refund that a person approves and the bank confirms. */
export const refunds = defineWorkers(jobs, {
  async refund({ payload: { order, cents } }, ctx) {
    const { risk } = await ctx.step('assess', async () => ({ risk: cents > 10_000 ? 'high' : 'low' }))
    const amount = `${(cents / 100).toFixed(2)} €`
    const said = await ctx.ask('approve', `Refund ${amount} for order ${order}?`, approval, { timeout: '2d' })
    if (said.timedOut || !said.value.ok) return { refunded: false }
    const bank = await ctx.receive('bank', { timeout: '7d' })
    await ctx.all([ctx.spawn('notify', { order })])
    return { refunded: !bank.timedOut && bank.value.ok, risk }
  },
  notify: async () => ({ sent: true }),
})
