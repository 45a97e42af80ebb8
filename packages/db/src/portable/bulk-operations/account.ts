import type { JobId } from '@oncue/core'
import type { NewAuditEntry } from '../access/types.ts'
import { type Acted, BUSY_ATTEMPTS } from '../actions.ts'
import type { Place } from '../reads/cursor.ts'
import type { OperationRow } from './types.ts'

/** How an operation stands after a batch. */
export function afterBatch(
  seen: OperationRow,
  next: Place | null,
  acted: readonly Acted[],
  now: Date,
): OperationRow {
  const tries = (seen.position?.busy.length ? seen.position.tries : 0) + 1
  const busy = tries < BUSY_ATTEMPTS ? idsOf(acted, 'BUSY') : []
  const skipped = { ...seen.skipped }
  let { done } = seen
  for (const { reason, count } of acted) {
    if (reason === 'done') done += count
    else if (count > 0 && !(reason === 'BUSY' && busy.length > 0))
      skipped[reason] = (skipped[reason] ?? 0) + count
  }
  const handled = Object.values(skipped).reduce((sum, count) => sum + count, done)
  const isOver = next === null && busy.length === 0
  return {
    ...seen,
    done,
    skipped,
    // Where more matched than were counted, the walk finds out.
    total: Math.max(seen.total, handled),
    totalIsExact: seen.totalIsExact || isOver,
    position: isOver ? null : { next, busy, tries },
    updated: now,
    ...(isOver && { status: 'completed', finishedAt: now }),
  }
}

function idsOf(acted: readonly Acted[], wanted: string): readonly JobId[] {
  return acted.find(({ reason }) => reason === wanted)?.ids ?? []
}

/** By nobody's request, so in the name of who began it. */
export function endEntry({ id, action, status, skipped, error, done, actor }: OperationRow): NewAuditEntry {
  const target = { id, action, status, skipped, ...(error && { error }) }
  return { actor, action: 'operations.end', target, count: done }
}
