import type { Job, JobWaits } from '@oncue/core'
import { plain } from '@oncue/db/cli'
import { fromNow } from './format.ts'

/** "signal bank", "an answer to approve", "timer settle", "the retry of charge", "3 of 5 children" */
export function waitInWords({ kind, name, children }: JobWaits['for'][number]): string {
  if (children) return `${children.left} of ${children.total} children`
  if (kind === 'retry') return `the retry of ${plain(name, 40)}`
  return `${kind === 'ask' ? 'an answer to' : kind} ${plain(name, 40)}`
}

/** "retrying step charge in 40s", of a job that waits for nothing else. Null: it does, or for nothing. */
export function retryInWords(
  { waits, ending, runAt }: Pick<Job, 'waits' | 'ending' | 'runAt'>,
  now: Date,
): string | null {
  const [only, ...others] = waits?.for ?? []
  if (only?.kind !== 'retry' || others.length > 0) return null
  return `retrying ${ending ? 'undo' : 'step'} ${plain(only.name, 40)} ${fromNow(runAt, now)}`
}

/** Of a suspended job: the first of these resumes it. */
export const waitsInWords = ({ for: open }: Pick<JobWaits, 'for'>) => open.map(waitInWords).join(' or ')
