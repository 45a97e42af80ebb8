// An isolated handler that takes about 2 GB, if it may.
import { defineJobs, defineWorkers, job } from 'oncue'
import { z } from 'zod'

const jobs = defineJobs({
  hungry: job({ input: z.object({}), isolate: { memoryMb: 64 }, retry: { max: 0 } }),
})

export const workers = defineWorkers(jobs, {
  async hungry() {
    const all = []
    for (let i = 0; i < 40; i++) all.push(Array.from({ length: 1_000_000 }, (_, j) => ({ i, j })))
    return all.length
  },
})
