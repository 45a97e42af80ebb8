import type { Alert } from '@oncue/core/wire'
import type { AlertRow } from '@oncue/db'
import type { Notification } from './notification.ts'

/** As people see it. */
export function showAlert(row: AlertRow, now: Date): Alert {
  const { id, ruleId, kind, queue, summary, value, threshold, acked, resolvedAt, updated } = row
  // One that is over is told of soon; until then it is one that nobody has silenced.
  const snoozed = row.snoozed && row.snoozed.until > now ? { ...row.snoozed } : null
  return {
    ...{ id, ruleId, kind, queue, summary, value, threshold, resolvedAt, updated },
    state: stateOf(row, snoozed !== null),
    firedAt: row.firedAt ?? row.since,
    acked: acked && { ...acked },
    snoozed,
  }
}

function stateOf({ status, acked }: AlertRow, isSnoozed: boolean): Alert['state'] {
  if (status === 'resolved') return 'resolved'
  if (acked) return 'acked'
  return isSnoozed ? 'snoozed' : 'firing'
}

export function notificationOf(row: AlertRow, now: Date): Notification {
  return {
    id: `alert:${row.id}:${row.transitions}`,
    kind: row.status === 'resolved' ? 'resolved' : 'firing',
    at: row.updated,
    summary: row.summary,
    alert: showAlert(row, now),
    path: `/alerts/${row.id}`,
  }
}
