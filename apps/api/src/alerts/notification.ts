import type { Alert } from '@oncue/core/wire'

/** What people are to be told. Nothing of any payload is in it. */
export interface Notification {
  /**
   * `alert:<id>:<n>`: one for each time that an alert fires, fires again after a snooze, or resolves. It may be
   * handed over twice, so it belongs into the idempotency key of its delivery.
   */
  readonly id: string
  readonly kind: 'firing' | 'resolved' | 'test'
  readonly at: Date
  /** One sentence. */
  readonly summary: string
  /** As it was when it was handed over; null for a test. */
  readonly alert: Alert | null
  /** Where the app shows it. */
  readonly path: string
}

/** Returns once every delivery is safely stored. */
export type Notify = (notification: Notification) => Promise<void>
