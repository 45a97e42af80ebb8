import type { Alert } from '@oncue/core/wire'
import { showAlert } from '../alerts/show.ts'
import type { Services } from '../context.ts'
import { Board } from './polled-value.ts'

/** More than anybody reads; the list has the rest. */
const SHOWN = 200

export interface OpenAlerts {
  readonly now: Date
  /** Those that fired last first. */
  readonly alerts: Alert[]
}

/** What fires now, for all who watch. */
export function alertBoard({ store, control }: Pick<Services, 'store' | 'control'>): Board<OpenAlerts> {
  const read = async () => {
    const [now, { items }] = await Promise.all([
      store.now(),
      control.alerts.list({ state: 'open' }, { limit: SHOWN }),
    ])
    return { now, alerts: items.map((row) => showAlert(row, now)) }
  }
  return new Board(read, ({ alerts }) => JSON.stringify(alerts))
}
