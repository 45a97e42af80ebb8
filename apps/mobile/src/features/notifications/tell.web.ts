import { isNotifiedBy } from '../../lib/preferences.ts'
import type { Server } from '../../lib/servers.ts'
import type { Alert } from './fresh.ts'
import { reachedByPush } from './push.web.ts'

/** Whether the system announces these alerts; if not, the app shows a toast. In a visible tab the toast does. */
export function tell(server: Server, alerts: readonly Alert[], open: (id: string) => void): boolean {
  if (!isNotifiedBy(server.id) || !document.hidden) return false
  if (reachedByPush()) return true
  if (!('Notification' in globalThis) || Notification.permission !== 'granted') return false
  try {
    for (const { id, summary } of alerts) {
      const shown = new Notification('Oncue', { body: summary, tag: id })
      shown.onclick = () => {
        globalThis.focus()
        open(id)
        shown.close()
      }
    }
    return true
  } catch {
    return false
  }
}
