import { defineJobs, job } from 'oncue'
import { z } from 'zod'

/** What can be enqueued. The server imports this file, and none of the handlers. */
export const jobs = defineJobs({
  send_welcome: job({
    input: z.object({ userId: z.int() }),
    output: z.object({ sentTo: z.string().nullable() }),
    retry: { max: 5, strategy: 'exponential_jitter' },
  }),
})
