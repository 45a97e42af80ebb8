import { useLocalSearchParams, useRouter } from 'expo-router'
import { StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Chip, Chips } from '../../components/ui/chip.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { usePages, useRead } from '../../lib/api.tsx'
import { useCursor } from '../../lib/use-cursor.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useHeld } from '../../lib/use-held.ts'
import { space } from '../../theme/tokens.ts'
import { useIsWide } from '../../theme/use-theme.ts'
import { EndSilence, isSilent } from '../queues/silence.tsx'
import { AlertRow } from './alert-row.tsx'
import { ChannelList } from './channel-list.tsx'
import { type Alert, openAlerts, resolvedAlerts } from './queries.ts'
import { RuleList } from './rule-list.tsx'
import { byUrgency } from './words.ts'

const VIEWS = [
  { value: 'open', label: 'Open', isOfAlerts: true },
  { value: 'resolved', label: 'Resolved', isOfAlerts: true },
  { value: 'rules', label: 'Rules', isOfAlerts: false },
  { value: 'channels', label: 'Channels', isOfAlerts: false },
] as const

type ViewName = (typeof VIEWS)[number]['value']

const viewOf = (name: string | undefined) => VIEWS.find(({ value }) => value === name) ?? VIEWS[0]

/** What the address asks for: alerts, which open beside their list, or what makes them and who is told. */
export function useAlertsView() {
  return viewOf(useLocalSearchParams<{ view?: string }>().view)
}

/** What fires and what did, by which rules, and who is told. */
export function AlertsScreen({ openId }: { readonly openId?: string }) {
  const router = useRouter()
  const asked = useAlertsView()
  const isBeside = openId !== undefined
  const view = isBeside && !asked.isOfAlerts ? 'open' : asked.value
  const change = (next: ViewName) => {
    // The rest belongs to no alert.
    if (isBeside && !viewOf(next).isOfAlerts) router.navigate({ pathname: '/alerts', params: { view: next } })
    else router.setParams({ view: next })
  }
  return (
    <Page title="Alerts" isAside={isBeside}>
      <View style={styles.views}>
        <Segmented label="What to show" options={VIEWS} value={view} onChange={change} />
      </View>
      <Silence />
      {view === 'open' && <Open openId={openId} />}
      {view === 'resolved' && <Resolved openId={openId} />}
      {view === 'rules' && <RuleList />}
      {view === 'channels' && <ChannelList />}
    </Page>
  )
}

/** Above all else: what fires tells no one. */
function Silence() {
  const { data: health } = useHealth()
  if (!health || !isSilent(health)) return null
  return (
    <Banner tone="bad" icon="failures" text={health.summary.text} action={<EndSilence health={health} />} />
  )
}

interface ListProps {
  readonly openId: string | undefined
}

function Open({ openId }: ListProps) {
  const read = useRead(openAlerts)
  // Beside an open detail no row moves under the pointer.
  const held = useHeld(byUrgency(read.data?.items ?? []), {
    isHeld: openId !== undefined && read.data !== undefined,
    idOf: ({ id }) => id,
  })
  const newest = new Map(read.data?.items.map((alert) => [alert.id, alert]))
  return (
    <>
      {held.waiting > 0 && (
        <Chips>
          <Chip label={`${held.waiting} new – tap to show`} icon="refresh" isOn onPress={held.show} />
        </Chips>
      )}
      <ReadState
        read={read}
        isEmpty={({ items }) => items.length === 0}
        empty={{ title: 'No alerts', text: 'Nothing is firing.' }}
      >
        {() => (
          <Rows view="open" openId={openId} alerts={held.items.flatMap(({ id }) => newest.get(id) ?? [])} />
        )}
      </ReadState>
    </>
  )
}

function Resolved({ openId }: ListProps) {
  const read = usePages(resolvedAlerts)
  return (
    <ReadState
      read={read}
      isEmpty={({ pages }) => pages.every(({ items }) => items.length === 0)}
      empty={{ title: 'No resolved alerts', text: 'Resolved alerts are kept for 30 days.' }}
    >
      {({ pages }) => (
        <>
          <Rows view="resolved" openId={openId} alerts={pages.flatMap(({ items }) => items)} />
          {read.hasNextPage && (
            <View style={styles.more}>
              <Button
                label="Show older"
                isBusy={read.isFetchingNextPage}
                onPress={() => void read.fetchNextPage()}
              />
            </View>
          )}
        </>
      )}
    </ReadState>
  )
}

function Rows({
  alerts,
  openId,
  view,
}: ListProps & { readonly alerts: readonly Alert[]; readonly view: ViewName }) {
  const open = useOpenAlert(view, openId !== undefined)
  const current = useCursor(
    alerts.map(({ id }) => id),
    { onOpen: open, openId },
  )
  return alerts.map((alert) => (
    <AlertRow
      key={alert.id}
      alert={alert}
      isCurrent={alert.id === (current ?? openId)}
      onPress={() => open(alert.id)}
    />
  ))
}

/** With what the list beside it shows. */
function useOpenAlert(view: ViewName, isBeside: boolean): (alertId: string) => void {
  const router = useRouter()
  const isWide = useIsWide()
  return (alertId) => {
    if (isWide && isBeside) router.setParams({ alertId, view })
    else router.push({ pathname: '/alerts/[alertId]', params: { alertId, view } })
  }
}

const styles = StyleSheet.create({
  views: { paddingHorizontal: space.l, paddingBottom: space.m },
  more: { padding: space.l },
})
