// What the workers of compose.yaml run, until you mount your own.
import { defineJobs, defineWorkers, job } from 'oncue'
import { z } from 'zod'

export const jobs = defineJobs({
  hello: job({ input: z.object({ name: z.string() }), output: z.object({ greeting: z.string() }) }),
})

export const workers = defineWorkers(jobs, {
  async hello({ payload }) {
    return { greeting: `Hello ${payload.name}` }
  },
})
