import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useToast } from '../../components/ui/toast.tsx'
import { number } from '../../lib/format.ts'
import { useNotifiedBy } from '../../lib/preferences.ts'
import { useSignedIn } from '../../lib/session.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useOpen } from '../../lib/use-open.ts'
import { openAlerts } from '../alerts/queries.ts'
import { type Alert, firingIds, newlyFiring } from './fresh.ts'
import { keep, prepare } from './push.ts'
import { tell } from './tell.ts'
import { useResponses } from './use-responses.ts'

/** Nothing to see: it tells of alerts, and answers what is pressed on them. */
export function Notifications() {
  useResponses()
  useKept()
  useNewAlerts()
  return null
}

function useKept(): void {
  const { client, server } = useSignedIn()
  const isOn = useNotifiedBy(server.id)
  useEffect(() => {
    // Without push everything works; what cannot be registered now is at the next start.
    prepare()
      .then(() => (isOn ? keep({ client, server }) : undefined))
      .catch(() => {})
  }, [client, server, isOn])
}

/**
 * The health that is streamed anyway says how many fire. Only when that changes is it asked which: a stream of its
 * own would take one of the six connections that a browser has for a server.
 */
function useNewAlerts(): void {
  const { client, server } = useSignedIn()
  const { data } = useHealth()
  const queries = useQueryClient()
  const toast = useToast()
  const open = useOpen('alertId')
  const seen = useRef<{ client: unknown; counts: string; since: Date; known: ReadonlySet<string> | null }>(
    null,
  )
  const counts = data?.alerts && JSON.stringify(data.alerts)

  function show(alerts: readonly Alert[]) {
    const [first] = alerts
    if (!first || tell(server, alerts, open)) return
    const more = alerts.length === 1 ? '' : `, and ${number(alerts.length - 1)} more`
    toast.show({ text: first.summary + more, icon: 'alerts', open: () => open(first.id) })
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: when how many changes, and not whenever they are counted.
  useEffect(() => {
    if (!data || counts === undefined) return
    const before = seen.current
    if (before?.client !== client) {
      seen.current = { client, counts, since: data.now, known: null }
      return
    }
    if (before.counts === counts) return
    before.counts = counts
    void queries.invalidateQueries({ queryKey: ['alerts.get'] })
    const read = ({ signal }: { signal: AbortSignal }) => openAlerts.call(client, { signal })
    queries
      .fetchQuery({ queryKey: openAlerts.key, queryFn: read, staleTime: 0 })
      .then(({ items }) => {
        show(newlyFiring(items, before))
        before.known = firingIds(items)
      })
      // How many fire is on the screen; the next change asks again.
      .catch(() => {})
  }, [counts, client])
}
