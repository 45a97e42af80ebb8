import { defineJobs, defineWorkers, job } from '@oncue/core'
import { z } from 'zod'

const trip = { input: z.object({ to: z.string(), cents: z.int() }), queue: 'trips' } as const

const jobs = defineJobs({ book_trip: job(trip), plan_trip: job(trip), cancel_trip: job(trip) })

class CardDeclined extends Error {
  override readonly name = 'CardDeclined'
}

/** Steps that are taken back, steps that were all done, and an undo that does not work yet. */
export const trips = defineWorkers(jobs, {
  async book_trip({ payload }, ctx) {
    await ctx.step('book_flight', async () => ({ ticket: `${payload.to}-4711` }))
    await ctx.undo('unbook_flight', async () => undefined)
    await ctx.step('book_hotel', async () => ({ nights: 3 }))
    await ctx.undo('unbook_hotel', async () => undefined)
    throw new CardDeclined('the card ending in 4242 was declined')
  },
  async plan_trip({ payload }, ctx) {
    for (const step of ['find_flights', 'find_hotels', 'compare_prices', 'send_offer'])
      await ctx.step(step, async () => ({ to: payload.to }))
  },
  async cancel_trip(_, ctx) {
    await ctx.step('book_flight', async () => ({ ticket: 'ZRH-4712' }))
    await ctx.undo('unbook_flight', () => Promise.reject(new Error('the airline does not respond')), {
      retry: { max: 10, strategy: 'fixed', baseDelay: 1_800_000 },
    })
    throw new CardDeclined('the card ending in 4242 was declined')
  },
})
