import type { JobWaits } from '@oncue/core'
import { plain } from '@oncue/db/cli'

/** "signal bank", "an answer to approve", "timer settle", "3 of 5 children" */
export function waitInWords({ kind, name, children }: JobWaits['for'][number]): string {
  if (children) return `${children.left} of ${children.total} children`
  return `${kind === 'ask' ? 'an answer to' : kind} ${plain(name, 40)}`
}

/** Of a suspended job: the first of these resumes it. */
export const waitsInWords = ({ for: open }: Pick<JobWaits, 'for'>) => open.map(waitInWords).join(' or ')
