import type { Server } from '../../lib/servers.ts'

/** The buttons of a notification, as the app registers them and gets them back. */
export const ACTIONS = { ack: 'ack', snooze: 'snooze', open: 'open' } as const
type PushAction = keyof typeof ACTIONS

export interface PushResponse {
  readonly action: PushAction
  readonly path: '/alerts' | `/alerts/${string}`
  /** Null: it was about no alert, such as a test. */
  readonly alertId: string | null
  /** The app's address at the server that sent it, if the message has one. */
  readonly url: string | null
}

const ALERT = /^\/alerts\/([0-9a-f-]{36})$/i

/** The data is untrusted: it can lead to an alert or to the list of alerts, and nowhere else. */
export function readResponse(actionId: string, data: unknown): PushResponse {
  const { path, url } = (typeof data === 'object' && data ? data : {}) as { path?: unknown; url?: unknown }
  const [, alertId = null] = (typeof path === 'string' && ALERT.exec(path)) || []
  return {
    action: alertId !== null && (actionId === ACTIONS.ack || actionId === ACTIONS.snooze) ? actionId : 'open',
    path: alertId === null ? '/alerts' : `/alerts/${alertId}`,
    alertId,
    url: typeof url === 'string' ? url : null,
  }
}

/** The server that sent it, among those that this device knows. */
export function senderOf(servers: readonly Server[], url: string | null): Server | undefined {
  if (url === null) return undefined
  return servers.find((server) => `${url}/`.startsWith(`${server.url.replace(/\/+$/, '')}/`))
}
