import type { Client } from '@oncue/sdk'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { count, timeOrDay } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import type { Alert } from './queries.ts'

const TOUCHES = ['alerts.list', 'alerts.get']

type Mark = (client: Client, id: string) => Promise<Alert>

const ack: Mark = (client, id) => client.alerts.ack({ id })
const unack: Mark = (client, id) => client.alerts.unack({ id })
const unsnooze: Mark = (client, id) => client.alerts.unsnooze({ id })
const snoozeUntil =
  (until: Date): Mark =>
  (client, id) =>
    client.alerts.snooze({ id, until })

/** Acknowledge and snooze replace each other, so Undo restores the earlier one. */
function inverseOf(alert: Alert, orElse: Mark): Mark {
  if (alert.acked) return ack
  return alert.snoozed ? snoozeUntil(alert.snoozed.until) : orElse
}

/** Acknowledge, snooze and their inverses, without confirmation: each can be undone. */
export function useAlertActs() {
  const toast = useToast()
  const act = useAct((client, { mark, id }: { mark: Mark; id: string }) => mark(client, id), {
    touches: TOUCHES,
  })
  const many = useAct((client, ids: string[]) => client.alerts.ack({ ids }), { touches: TOUCHES })

  async function run(alert: Alert, mark: Mark, told?: { readonly text: string; readonly inverse: Mark }) {
    try {
      await act.run({ mark, id: alert.id })
      felt('done')
      if (told) toast.show({ text: told.text, icon: 'check', undo: () => void run(alert, told.inverse) })
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }

  /** All of them at once; alerts that resolve meanwhile are left out. */
  async function ackAll(alerts: readonly Alert[]) {
    try {
      const acked = await many.run(alerts.map(({ id }) => id))
      felt('done')
      toast.show({
        text: `${count(acked.alerts.length, 'alert')} acknowledged: no more notifications`,
        icon: 'check',
      })
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }

  return {
    isRunning: act.isRunning || many.isRunning,
    ackAll,
    ack: (alert: Alert) =>
      run(alert, ack, { text: 'Acknowledged: no more notifications', inverse: inverseOf(alert, unack) }),
    unack: (alert: Alert) => run(alert, unack, { text: 'No longer acknowledged', inverse: ack }),
    snooze: (alert: Alert, until: Date) =>
      run(alert, snoozeUntil(until), {
        text: `Snoozed until ${timeOrDay(until, serverNow())}`,
        inverse: inverseOf(alert, unsnooze),
      }),
    unsnooze: (alert: Alert) =>
      run(alert, unsnooze, { text: 'No longer snoozed', inverse: inverseOf(alert, unsnooze) }),
  }
}
