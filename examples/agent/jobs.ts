import { defineJobs, job } from 'oncue'
import { z } from 'zod'

export const jobs = defineJobs({
  support_agent: job({
    input: z.object({ question: z.string() }),
    output: z.object({ answer: z.string() }),
    // The start of each run and its progress too, so that `replay` can tell the whole story.
    events: 'all',
    timeoutMs: 10 * 60_000,
  }),
})
