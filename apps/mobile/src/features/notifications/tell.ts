import { isNotifiedBy } from '../../lib/preferences.ts'
import type { Server } from '../../lib/servers.ts'
import type { Alert } from './fresh.ts'

/** Whether the system announces these alerts; if not, the app shows a toast. With notifications on, push does. */
export function tell({ id }: Server, _alerts: readonly Alert[], _open: (id: string) => void): boolean {
  return isNotifiedBy(id)
}
