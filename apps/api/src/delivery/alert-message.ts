import { ALERT_KINDS, ALERT_STATES } from '@oncue/core/wire'
import { z } from 'zod'
import type { Notification } from '../alerts/notification.ts'

/** A notification as its jobs store it: times are texts. It contains nothing of any payload. */
export const alertMessageSchema = z.object({
  type: z.enum(['alert.firing', 'alert.resolved', 'test']),
  at: z.string(),
  summary: z.string(),
  path: z.string(),
  alert: z
    .object({
      id: z.string(),
      kind: z.enum(ALERT_KINDS),
      queue: z.string().nullable(),
      state: z.enum(ALERT_STATES),
      summary: z.string(),
      value: z.number(),
      threshold: z.number(),
      firedAt: z.string(),
    })
    .nullable(),
})
export type AlertMessage = z.output<typeof alertMessageSchema>

export function toAlertMessage({ kind, at, summary, path, alert }: Notification): AlertMessage {
  return {
    type: kind === 'test' ? 'test' : `alert.${kind}`,
    at: at.toISOString(),
    summary,
    path,
    alert: alert && {
      id: alert.id,
      kind: alert.kind,
      queue: alert.queue,
      state: alert.state,
      summary: alert.summary,
      value: alert.value,
      threshold: alert.threshold,
      firedAt: alert.firedAt.toISOString(),
    },
  }
}

/** A message that is being sent. */
export interface Sent {
  /** The same for every attempt, so that the receiver can ignore repeats. */
  readonly id: string
  readonly message: AlertMessage
  /** Such as production. */
  readonly environment: string | null
  /** Where the app shows it; null: no public URL is set. */
  readonly url: string | null
  readonly now: Date
}
