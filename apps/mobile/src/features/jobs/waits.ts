import type { JobStatus, Outputs } from '@oncue/sdk'
import { ageInOne, timeOrDate, until } from '../../lib/format.ts'

export type Waits = NonNullable<Outputs['jobs']['get']['waits']>
type Wait = Waits['for'][number]

interface Suspendable {
  readonly status: JobStatus
  readonly runAt: Date
  readonly waits: Waits | null
}

/** What a suspended job waits for. Null: it is not suspended, or its time has come and it only waits for a worker. */
export function openWaits({ status, runAt, waits }: Suspendable, now: number): Waits | null {
  if (!waits || waits.for.length === 0) return null
  const isOpen = status === 'blocked' || (status === 'pending' && runAt.getTime() > now)
  return isOpen ? waits : null
}

/**
 * "Waiting for “bank” for 2 d, until 5 Nov", "Sleeping (“settle”) for 3 h, until 14:05 UTC+1", "Retrying step “charge” in 40 s".
 * A job that is being undone only waits to repeat an undo.
 */
export function waitInWords({ since, for: open }: Waits, now: number, isUndoing = false): string {
  const ends = open.flatMap(({ until }) => (until === null ? [] : Date.parse(until)))
  const end = ends.length > 0 ? new Date(Math.min(...ends)) : null
  const [only] = open
  if (open.length === 1 && only?.kind === 'retry')
    return `Retrying ${isUndoing ? 'undo' : 'step'} “${only.name}”${end ? ` ${until(end, now)}` : ''}`
  const later = end ? `, until ${timeOrDate(end, now)}` : ''
  return `${whatInWords(open)} for ${ageInOne(new Date(since), now)}${later}`
}

function whatInWords(open: readonly Wait[]): string {
  const [only] = open
  if (open.length === 1 && only?.kind === 'timer') return `Sleeping (“${only.name}”)`
  return `Waiting for ${open.map(thingOf).join(' or ')}`
}

function thingOf({ kind, name, children }: Wait): string {
  switch (kind) {
    case 'signal':
      return `“${name}”`
    case 'ask':
      return `an answer to “${name}”`
    case 'retry':
      return `the retry of “${name}”`
    case 'timer':
      return `the end of “${name}”`
    case 'children':
      return children ? `${children.left} of ${children.total} children` : 'its children'
  }
}
