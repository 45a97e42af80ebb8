import { defineJobs, job } from 'oncue'
import { z } from 'zod'

export const jobs = defineJobs({
  check_payment: job({
    input: z.object({ orderId: z.string() }),
    output: z.object({ status: z.enum(['paid', 'expired']) }),
    queue: 'high',
  }),
})
