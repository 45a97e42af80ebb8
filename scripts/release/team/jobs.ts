// What a team writes first. It is compiled and run with the packed packages, outside of this repository.
import { defineJobs, defineWorkers, job, PermanentError } from '@oncue/core'
import { z } from 'zod'

export const jobs = defineJobs({
  mail_digest: job({ input: z.object({ userId: z.string() }), output: z.object({ sent: z.number() }) }),
  check_payment: job({ input: z.object({ orderId: z.string() }), output: z.object({ paid: z.boolean() }) }),
})

export const workers = defineWorkers(jobs, {
  async mail_digest({ payload }, ctx) {
    ctx.log.info('sending', { to: payload.userId })
    return { sent: payload.userId.length }
  },
  async check_payment({ payload }) {
    if (payload.orderId === '') throw new PermanentError('there is no order')
    return { paid: true }
  },
})
