import type { Outputs } from '@oncue/sdk'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useCopy } from '../../components/ui/use-copy.ts'
import { type Read, useRead } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import type { Health } from '../../lib/connection-provider.tsx'
import { useSignedIn } from '../../lib/session.ts'
import { openAlerts } from '../alerts/queries.ts'
import { type Incident, incidentSummary } from './summary.ts'

const HOUR_MS = 3_600_000

const lastHour = (canRead: boolean): Read<Outputs['audit']['list']['items'] | null> => ({
  key: ['audit.list', 'last hour', canRead],
  call: async (client, options) => {
    if (!canRead) return null
    const { items } = await client.audit.list({ from: new Date(serverNow() - HOUR_MS), limit: 50 }, options)
    return items
  },
})

export interface IncidentSheetProps {
  readonly health: Health
  /** The one that it is about, if it is about one. */
  readonly alert?: Incident['alert']
  /** Those with problems, worst first. */
  readonly queues: Incident['queues']
  readonly onClose: () => void
}

/** What is wrong and who did what, to be pasted into a chat. */
export function IncidentSheet({ health, alert, queues, onClose }: IncidentSheetProps) {
  const { me } = useSignedIn()
  const canRead = !me || me.may.includes('act')
  const read = useRead(lastHour(canRead))
  const { data: alerts } = useRead(openAlerts)
  // The one that it is about has a line of its own.
  const firing = alerts?.items.filter(
    ({ state, summary }) => state === 'firing' && summary !== alert?.summary,
  )
  const copy = useCopy()
  const text =
    read.data === undefined
      ? null
      : incidentSummary({ health, alert, firing, queues, deeds: read.data, now: health.now.getTime() })
  return (
    <Sheet
      isOpen
      title="Incident summary"
      onClose={onClose}
      footer={
        text !== null && (
          <Button wide variant="primary" icon="copy" label="Copy for Slack" onPress={() => void copy(text)} />
        )
      }
    >
      <ReadState read={read}>
        {() => (
          <Text variant="code" selectable>
            {text}
          </Text>
        )}
      </ReadState>
      {!canRead && (
        <Text variant="small" color="textMuted">
          {`What people did is visible to operators and admins. Your role is ${me?.role ?? 'none'}.`}
        </Text>
      )}
    </Sheet>
  )
}
