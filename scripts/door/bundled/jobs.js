// The handlers of a service that is bundled, in a module of their own: `heavy` runs in a child process, which loads it.
import { defineJobs, defineWorkers, job } from 'oncue'
import { z } from 'zod'

export const jobs = defineJobs({
  greet: job({ input: z.object({ name: z.string() }), output: z.object({ greeting: z.string() }) }),
  heavy: job({ input: z.object({}), output: z.object({ pid: z.number() }), isolate: true }),
})

export const workers = defineWorkers(jobs, {
  async greet({ payload }) {
    return { greeting: `Hello, ${payload.name}` }
  },
  async heavy() {
    return { pid: process.pid }
  },
})
