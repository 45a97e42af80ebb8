import { defineJobs, job } from 'oncue'
import { z } from 'zod'

const source = z.object({ sourceId: z.string() })

export const jobs = defineJobs({
  // Retries off: a person should see a failure here, and the children have retries of their own.
  vectorize_source: job({ input: source, output: z.object({ chunks: z.number() }), retry: false }),
  embed_chunk: job({
    input: source.extend({ index: z.int(), text: z.string() }),
    retry: { max: 5, strategy: 'exponential_jitter', baseDelay: 100 },
  }),
  finish_source: job({ input: source, retry: false }),
})
