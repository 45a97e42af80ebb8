import { defineJobs, job } from 'oncue'
import { z } from 'zod'

/** What can be enqueued. The site imports this file, and none of the handlers. */
export const jobs = defineJobs({
  send_welcome: job({
    input: z.object({ email: z.email() }),
    output: z.object({ sentTo: z.string() }),
    retry: { max: 5, strategy: 'exponential_jitter' },
  }),
})
