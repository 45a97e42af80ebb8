import { defineJobs, defineWorkers, job } from '@oncue/core'
import { z } from 'zod'
import { run } from './tools.ts'

const jobs = defineJobs({ order: job({ input: z.unknown(), signals: { bank: z.unknown() } }) })

export const workers = defineWorkers(jobs, {
  order: (_job, ctx) => run(ctx, `search ${ctx.attempt}`),
})
