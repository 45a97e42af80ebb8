import type { JobStatus, Outputs } from '@oncue/sdk'
import { ageInOne, timeOrDate } from '../../lib/format.ts'

export type Waits = NonNullable<Outputs['jobs']['get']['waits']>
type Wait = Waits['for'][number]

interface Suspendable {
  readonly status: JobStatus
  readonly visibleAt: Date | null
  readonly waits: Waits | null
}

/** What a suspended job waits for. Null: it is not suspended, or its time has come and it only waits for a worker. */
export function openWaits({ status, visibleAt, waits }: Suspendable, now: number): Waits | null {
  if (!waits || waits.for.length === 0) return null
  const isOpen = status === 'blocked' || (status === 'pending' && visibleAt !== null && +visibleAt > now)
  return isOpen ? waits : null
}

/**
 * "Waiting for bank since 2 d, until 5 Nov", "Sleeping (settle) since 3 h, until 14:05 UTC+1". A job that is being undone only
 * waits to repeat an undo.
 */
export function waitInWords({ since, for: open }: Waits, now: number, isUndoing = false): string {
  const ends = open.flatMap(({ until }) => (until === null ? [] : Date.parse(until)))
  const until = ends.length > 0 ? `, until ${timeOrDate(new Date(Math.min(...ends)), now)}` : ''
  return `${whatInWords(open, isUndoing)} since ${ageInOne(new Date(since), now)}${until}`
}

function whatInWords(open: readonly Wait[], isUndoing: boolean): string {
  const [only] = open
  if (open.length === 1 && only?.kind === 'timer')
    return isUndoing ? `Waiting to repeat the undo “${only.name}”` : `Sleeping (${only.name})`
  return `Waiting for ${open.map(thingOf).join(' or ')}`
}

function thingOf({ kind, name, children }: Wait): string {
  switch (kind) {
    case 'signal':
      return name
    case 'ask':
      return `an answer to ${name}`
    case 'timer':
      return `the end of ${name}`
    case 'children':
      return children ? `${children.left} of ${children.total} children` : 'its children'
  }
}
