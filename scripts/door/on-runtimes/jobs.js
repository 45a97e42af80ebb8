// What the trials run. `heavy` runs in a child process.
import { defineJobs, defineWorkers, job } from 'oncue'
import { z } from 'zod'

const input = z.object({})
const output = z.object({ run: z.number() })

export const jobs = defineJobs({
  greet: job({ input: z.object({ name: z.string() }), output: z.object({ greeting: z.string() }) }),
  heavy: job({ input, output: z.object({ pid: z.number() }), isolate: true }),
  endless: job({ input, output }),
  blocked: job({ input, output }),
  stuck: job({ input, output, timeoutMs: 1_000, retry: { max: 0 } }),
})

export const workers = defineWorkers(jobs, {
  async greet({ payload }) {
    return { greeting: `Hello, ${payload.name}` }
  },
  async heavy() {
    return { pid: process.pid }
  },
  async endless({ id, run }) {
    if (run > 1) return { run }
    process.stdout.write(`running ${id}\n`)
    return new Promise(() => {})
  },
  /** Holds the event loop for three leases. */
  async blocked({ id, run }) {
    process.stdout.write(`running ${id}\n`)
    const until = Date.now() + 6_000
    while (Date.now() < until);
    return { run }
  },
  /** Never gives the event loop back. */
  async stuck({ id }) {
    process.stdout.write(`running ${id}\n`)
    for (;;);
  },
})
