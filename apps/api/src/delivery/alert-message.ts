import { ALERT_KINDS, ALERT_STATES, type Alert } from '@oncue/core/wire'
import { z } from 'zod'
import type { Notification } from '../alerts/notification.ts'

const alertInMessageSchema = z.object({
  id: z.string(),
  kind: z.enum(ALERT_KINDS),
  queue: z.string().nullable(),
  // Missing in jobs of the previous version.
  topic: z.string().nullable().default(null),
  fingerprint: z.string().nullable().default(null),
  state: z.enum(ALERT_STATES),
  summary: z.string(),
  value: z.number(),
  threshold: z.number(),
  firedAt: z.string(),
})

/** A notification as its jobs store it: times are texts. It contains nothing of any payload. */
export const alertMessageSchema = z.object({
  type: z.enum(['alert.firing', 'alert.resolved', 'alert.acked', 'test']),
  at: z.string(),
  summary: z.string(),
  path: z.string(),
  alert: alertInMessageSchema.nullable(),
  // Missing in jobs of the previous version.
  alerts: z.array(alertInMessageSchema).default([]),
  groups: z
    .array(
      z.object({
        id: z.string(),
        action: z.enum(['trigger', 'retrigger', 'acknowledge', 'resolve']).nullable(),
        summary: z.string(),
        path: z.string(),
      }),
    )
    .default([]),
})
export type AlertMessage = z.output<typeof alertMessageSchema>

export function toAlertMessage(notification: Notification): AlertMessage {
  const { kind, at, summary, path, alert, alerts, groups } = notification
  return {
    type: kind === 'test' ? 'test' : `alert.${kind}`,
    at: at.toISOString(),
    summary,
    path,
    alert: alert && toAlert(alert),
    alerts: alerts.map(toAlert),
    groups: groups.map((group) => ({ ...group })),
  }
}

function toAlert({ id, kind, queue, topic, fingerprint, state, summary, value, threshold, firedAt }: Alert) {
  return {
    ...{ id, kind, queue, topic, fingerprint, state, summary, value, threshold },
    firedAt: firedAt.toISOString(),
  }
}

/** In a title, and before a sentence. */
export const MESSAGE_TITLES = {
  'alert.firing': 'Firing',
  'alert.resolved': 'Resolved',
  'alert.acked': 'Acknowledged',
  test: 'Test',
} as const

/** A message that is being sent. */
export interface Sent {
  /** The same for every attempt, so that the receiver can ignore repeats. */
  readonly id: string
  readonly message: AlertMessage
  /** Such as production. */
  readonly environment: string | null
  /** Where people reach this server; null: no public URL is set. */
  readonly publicUrl: string | null
  /** Where the app shows it; null: no public URL is set. */
  readonly url: string | null
  readonly now: Date
}
