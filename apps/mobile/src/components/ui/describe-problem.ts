import { isOncueError } from '@oncue/sdk'
import { date } from '../../lib/format.ts'
import { jobNamedIn } from '../../lib/job-id.ts'
import type { IconName } from './icon.tsx'

export interface Problem {
  readonly title: string
  readonly text: string
  readonly icon: IconName
  readonly canRetry: boolean
}

/** What went wrong, for somebody who was just woken up. */
export function describeProblem(error: unknown): Problem {
  if (!isOncueError(error)) {
    const text = error instanceof Error ? error.message : 'No reason was given.'
    return { title: 'This did not work', text, icon: 'warn', canRetry: true }
  }
  const told = `${error.message}. ${error.hint}`
  switch (error.code) {
    case 'NETWORK_ERROR':
    case 'REQUEST_TIMEOUT':
      return { title: 'The server does not answer', text: told, icon: 'offline', canRetry: true }
    case 'FORBIDDEN':
    case 'HTTP_DISABLED':
      return { title: 'You may not see this', text: told, icon: 'lock', canRetry: false }
    case 'JOB_NOT_FOUND':
      return {
        title: 'This job is gone',
        text: whyGone(error.message),
        icon: 'remove',
        canRetry: false,
      }
    case 'ALERT_NOT_FOUND':
      return {
        title: 'This alert is gone',
        text: 'There is no alert with this id, or it was removed by retention: resolved alerts are kept for 30 days.',
        icon: 'remove',
        canRetry: false,
      }
    case 'NOT_FOUND':
      // Only a procedure can be missing: whatever else there is has an error of its own.
      return {
        title: 'The server is of another version',
        text: `It does not know what this app asks for (${error.message}). Update the server, or reload the app.`,
        icon: 'server',
        canRetry: true,
      }
    default:
      return {
        title: 'This did not work',
        text: told,
        icon: 'warn',
        canRetry: error.retryable || isServerSide(error.code),
      }
  }
}

/** Nobody knows when it was removed, but its id knows when it was made. */
function whyGone(message: string): string {
  const job = jobNamedIn(message)
  return job
    ? `No job ${job.id}: it was enqueued on ${date(job.at)}, and finished jobs are removed after a while.`
    : 'There is no job with this id, or it was removed by retention: finished jobs are kept only for a while.'
}

const isServerSide = (code: string) => /^(INTERNAL|DATABASE_)/.test(code)
