import { defineWorkers } from 'oncue'
import { jobs } from './jobs.ts'

/** What runs the jobs, in a process beside Next.js. */
export const workers = defineWorkers(jobs, {
  async send_welcome({ payload }, ctx) {
    ctx.log.info('sending', { to: payload.email })
    // Call your mail service here. An error is retried later; a PermanentError is not.
    return { sentTo: payload.email }
  },
})
