import { defineJobs, job } from '@oncue/core'
import { z } from 'zod'

/** What a handler of the next release does outside of its steps, and must not be able to do in a replay. */
const place = z.object({ port: z.int(), file: z.string() })

export const jobs = defineJobs({
  skips: job({ input: z.unknown() }),
  spawns: job({ input: z.unknown() }),
  throws: job({ input: z.unknown() }),
  waits: job({ input: z.unknown(), signals: { bank: z.unknown() } }),
  grows: job({ input: z.unknown(), signals: { bank: z.unknown() } }),
  sums: job({ input: z.unknown() }),
  connects: job({ input: place }),
  writes: job({ input: place }),
  looks: job({ input: place }),
  part: job({ input: z.number(), output: z.number() }),
})
