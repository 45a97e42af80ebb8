import { defineJobs, job } from 'oncue'
import { z } from 'zod'

export const jobs = defineJobs({
  mail_digest: job({
    input: z.object({ userId: z.string() }),
    output: z.object({ sent: z.number() }),
    retry: { max: 5, strategy: 'exponential_jitter', baseDelay: 200 },
  }),
})
