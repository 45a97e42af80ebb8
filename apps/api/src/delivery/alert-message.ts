import { ALERT_KINDS, ALERT_STATES } from '@oncue/core/wire'
import { z } from 'zod'
import type { Notification } from '../alerts/notification.ts'

/** What is told, in the form in which its jobs keep it: times are texts. Nothing of any payload is in it. */
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

/** A message on its way. */
export interface Sent {
  /** The same for every attempt, so that the other side can tell that it has had it. */
  readonly id: string
  readonly message: AlertMessage
  /** Its name, such as production. */
  readonly environment: string | null
  /** Where the app shows it; null: nobody said where the app is. */
  readonly url: string | null
  readonly now: Date
}
