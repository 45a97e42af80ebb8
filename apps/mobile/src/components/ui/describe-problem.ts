import { isOncueError, type OncueError } from '@oncue/sdk'
import { hostOf } from '../../lib/address.ts'
import { date } from '../../lib/format.ts'
import { HOME_SERVER } from '../../lib/home-server.ts'
import { jobNamedIn } from '../../lib/job-id.ts'
import type { IconName } from './icon.tsx'

export interface Problem {
  readonly title: string
  readonly text: string
  readonly icon: IconName
  readonly canRetry: boolean
}

/** What went wrong, in words for the person on call. */
export function describeProblem(error: unknown): Problem {
  if (!isOncueError(error)) {
    const text = error instanceof Error ? error.message : 'No reason was given.'
    return { title: 'This did not work', text, icon: 'warn', canRetry: true }
  }
  switch (error.code) {
    case 'NETWORK_ERROR':
    case 'REQUEST_TIMEOUT':
      return {
        title: isSomethingElse(error) ? 'This is not Oncue' : 'The server is not responding',
        text: `${whyUnanswered(error)} ${WHAT_FOLLOWS}`,
        icon: 'offline',
        canRetry: true,
      }
    case 'INVALID_INPUT':
      return isAboutId(error.message) ? NOTHING_HERE : otherwise(error)
    case 'FORBIDDEN':
    case 'HTTP_DISABLED':
      return { title: 'No access', text: toldBy(error), icon: 'lock', canRetry: false }
    case 'JOB_NOT_FOUND':
      return missing('job', whyGone(error.message))
    case 'ALERT_NOT_FOUND':
      return missing('alert', 'Resolved alerts are kept for 30 days.')
    case 'BULK_OPERATION_NOT_FOUND':
      return missing('bulk operation', 'Finished ones are kept for 90 days.')
    case 'WORKER_NOT_FOUND':
      return missing('worker', 'Workers that stopped or were lost are kept for 7 days.')
    case 'NOT_FOUND':
      // Only a procedure can be missing here: everything else has its own not-found error.
      return {
        title: 'Incompatible server version',
        text: `It does not support this request (${error.message}). Update the server, or reload the app.`,
        icon: 'server',
        canRetry: true,
      }
    default:
      return otherwise(error)
  }
}

const missing = (what: string, text: string): Problem => ({
  title: `No such ${what}`,
  text,
  icon: 'remove',
  canRetry: false,
})

function otherwise(error: OncueError): Problem {
  return {
    title: 'This did not work',
    text: toldBy(error),
    icon: 'warn',
    canRetry: error.retryable || isServerSide(error.code),
  }
}

const toldBy = ({ message, hint }: OncueError) => `${message}. ${hint}`

/** True for screens, which are fetched again, and for buttons, whose calls are not. */
const WHAT_FOLLOWS = 'The app keeps reconnecting, but never resends an action.'

const isSomethingElse = ({ message }: OncueError) => message.includes('is not an Oncue API')

function whyUnanswered(error: OncueError): string {
  const { code, message } = error
  // On the web the url of the server is a mere path.
  const server = HOME_SERVER?.name ?? (hostOf(/^https?:\/\/\S+/.exec(message)?.[0] ?? '') || 'The server')
  if (code === 'REQUEST_TIMEOUT') return `${server} took too long to respond.`
  if (isSomethingElse(error))
    return `Something other than Oncue responded at ${server}, such as a proxy or a Wi-Fi sign-in page.`
  return `${server} is unreachable.`
}

/** The app takes ids from the API, and from links, which people type and mail programs cut. */
const isAboutId = (message: string) => message.startsWith('input.id: ')

const NOTHING_HERE: Problem = {
  title: 'There is nothing here',
  text: 'The link does not end in a complete id. It may be cut off or mistyped. Search for it in the list.',
  icon: 'remove',
  canRetry: false,
}

/** Whether there ever was such a job is unknown; the id only contains a time. */
function whyGone(message: string): string {
  const job = jobNamedIn(message)
  return job
    ? `No job ${job.id}. Going by the id, it would be from ${date(job.at)}; finished jobs are kept for a limited time.`
    : 'Finished jobs are kept for a limited time.'
}

const isServerSide = (code: string) => /^(INTERNAL|DATABASE_)/.test(code)
