import type { Alert } from '@oncue/core/wire'
import type { AlertRow } from '@oncue/db'

/** What people are notified of. It contains nothing of any payload. */
export interface Notification {
  /**
   * `alert:<id>:<n>`: one for each time that an alert fires, fires again after a snooze, or resolves. A notification may be
   * handed over twice, so its id is part of the delivery's idempotency key.
   */
  readonly id: string
  readonly kind: 'firing' | 'resolved' | 'test'
  readonly at: Date
  /** One sentence. */
  readonly summary: string
  /** The alert at that time; null for a test. */
  readonly alert: Alert | null
  /** Where the app shows it. */
  readonly path: string
}

/** Returns once every delivery is stored. */
export type Notify = (notification: Notification) => Promise<void>

/** The alert as the API returns it. */
export function showAlert(row: AlertRow, now: Date): Alert {
  const { id, ruleId, kind, queue, summary, value, threshold, acked, resolvedAt, updated } = row
  // A snooze that has ended counts as none; the next evaluation sends the alert again.
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
