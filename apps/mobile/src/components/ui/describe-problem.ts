import { isOncueError } from '@oncue/sdk'
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
        text: 'There is no job with this id, or it was removed by retention: finished jobs are kept only for a while.',
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

const isServerSide = (code: string) => /^(INTERNAL|DATABASE_)/.test(code)
