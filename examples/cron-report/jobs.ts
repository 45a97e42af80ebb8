import { defineJobs, job } from 'oncue'
import { z } from 'zod'

export const ZONE = 'Europe/Berlin'

export const jobs = defineJobs({
  sales_report: job({
    input: z.object({}),
    output: z.object({ file: z.string(), total: z.number() }),
    cron: '0 6 * * *',
    timezone: ZONE,
    // After a night without a worker one report is still written.
    missed: 'one',
  }),
})
