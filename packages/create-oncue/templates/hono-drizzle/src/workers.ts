import { eq } from 'drizzle-orm'
import { defineWorkers } from 'oncue'
import { db, pool } from './db/client.ts'
import { users } from './db/schema.ts'
import { jobs } from './jobs.ts'

/** What runs the jobs. A job may run twice: handlers are written so that this does no harm. */
export const workers = defineWorkers(jobs, {
  async send_welcome({ payload }, ctx) {
    const user = await db.query.users.findFirst({ where: eq(users.id, payload.userId) })
    if (!user || user.welcomedAt) return { sentTo: null }
    ctx.log.info('sending', { to: user.email })
    // Call your mail service here. An error is retried later; a PermanentError is not.
    await db.update(users).set({ welcomedAt: new Date() }).where(eq(users.id, user.id))
    return { sentTo: user.email }
  },
})

/** Called by the worker after the last job. */
export const close = () => pool.end()
