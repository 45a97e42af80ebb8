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

/** Renders nothing: announces alerts, and handles presses on notifications. */
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
    // The app works without push; a failed registration is tried again at the next start.
    prepare()
      .then(() => (isOn ? keep({ client, server }) : undefined))
      .catch(() => {})
  }, [client, server, isOn])
}

/**
 * The health stream says how many alerts fire; the list is requested only when that number changes. A stream of
 * its own would take one of the six connections that a browser allows for a server.
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

  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the counts change, not with every message.
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
      // The count is on the screen; the next change requests the list again.
      .catch(() => {})
  }, [counts, client])
}
