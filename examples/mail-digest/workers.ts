import { Cancel, defineWorkers, type Workers } from 'oncue'
import { jobs } from './jobs.ts'

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** What the handler needs of the rest of the service. */
export interface Post {
  unread(userId: string): Promise<readonly string[]>
  send(mail: Mail): Promise<void>
}

export function createWorkers(post: Post): Workers {
  return defineWorkers(jobs, {
    async mail_digest({ payload: { userId } }, ctx) {
      const unread = await post.unread(userId)
      if (unread.length === 0) throw new Cancel('nothing new')
      const text = unread.map((line) => `- ${line}`).join('\n')
      // Once for the whole job: a run after a crash finds that it was sent.
      await ctx.step('send', async () => {
        await post.send({ to: userId, subject: `${unread.length} new`, text })
        return null
      })
      ctx.log.info('sent', { to: userId })
      return { sent: unread.length }
    },
  })
}
