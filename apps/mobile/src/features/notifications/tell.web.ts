import { isNotifiedBy } from '../../lib/preferences.ts'
import type { Server } from '../../lib/servers.ts'
import type { Alert } from './fresh.ts'
import { reachedByPush } from './push.web.ts'

/** Whether the system tells of them: then nobody else has to. In a tab that is looked at, the page does. */
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
