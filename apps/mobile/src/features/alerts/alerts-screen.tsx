import { useLocalSearchParams, useRouter } from 'expo-router'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Chip, Chips } from '../../components/ui/chip.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useLock, usePages, useRead } from '../../lib/api.tsx'
import { count } from '../../lib/format.ts'
import { useCursor } from '../../lib/use-cursor.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useHeld } from '../../lib/use-held.ts'
import { space } from '../../theme/tokens.ts'
import { useIsWide, useTheme } from '../../theme/use-theme.ts'
import { EndSilence, isSilent } from '../queues/silence.tsx'
import { ChannelList, RuleList } from '../rare-screens.tsx'
import { AlertRow } from './alert-row.tsx'
import { type Alert, openAlerts, resolvedAlerts } from './queries.ts'
import { useAlertActs } from './use-alert-acts.ts'
import { byGroup, byUrgency } from './words.ts'

const VIEWS = [
  { value: 'open', label: 'Open', isOfAlerts: true },
  { value: 'resolved', label: 'Resolved', isOfAlerts: true },
  { value: 'rules', label: 'Rules', isOfAlerts: false },
  { value: 'channels', label: 'Channels', isOfAlerts: false },
] as const

type ViewName = (typeof VIEWS)[number]['value']

const viewOf = (name: string | undefined) => VIEWS.find(({ value }) => value === name) ?? VIEWS[0]

/** The view that the address names: alerts, which open beside their list, or rules and channels. */
export function useAlertsView() {
  return viewOf(useLocalSearchParams<{ view?: string }>().view)
}

/** Firing and resolved alerts, rules and channels. */
export function AlertsScreen({ openId }: { readonly openId?: string }) {
  const router = useRouter()
  const asked = useAlertsView()
  const isBeside = openId !== undefined
  const view = isBeside && !asked.isOfAlerts ? 'open' : asked.value
  const change = (next: ViewName) => {
    // Rules and channels have no open alert beside them.
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

/** On top of the screen: alerts fire, but none is sent. */
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
  // While a detail is open, no row moves under the pointer.
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
        {() => <OpenRows openId={openId} alerts={held.items.flatMap(({ id }) => newest.get(id) ?? [])} />}
      </ReadState>
    </>
  )
}

/** By cause, each acknowledged alone, several, or all at once. */
function OpenRows({ alerts, openId }: ListProps & { readonly alerts: readonly Alert[] }) {
  const { colors } = useTheme()
  const open = useOpenAlert('open', openId !== undefined)
  const acts = useAlertActs()
  const lock = useLock()
  const [selected, setSelected] = useState<ReadonlySet<string> | null>(null)
  const groups = byGroup(alerts)
  const current = useCursor(
    groups.flat().map(({ id }) => id),
    { onOpen: open, openId },
  )
  const firing = alerts.filter(({ state }) => state === 'firing')
  const chosen = firing.filter(({ id }) => selected?.has(id))
  const toggle = (id: string) =>
    setSelected(new Set(selected?.has(id) ? without(selected, id) : [...(selected ?? []), id]))
  const ackAll = async (which: readonly Alert[]) => {
    await acts.ackAll(which)
    setSelected(null)
  }
  return (
    <>
      {firing.length > 1 && (
        <View style={styles.bar}>
          {selected === null ? (
            <>
              <Button
                label={`Acknowledge all ${firing.length}`}
                icon="acked"
                variant="primary"
                lock={lock}
                isBusy={acts.isRunning}
                onPress={() => void ackAll(firing)}
              />
              <Button label="Select" icon="check" lock={lock} onPress={() => setSelected(new Set())} />
            </>
          ) : (
            <>
              <Button
                label={`Acknowledge ${chosen.length} selected`}
                icon="acked"
                variant="primary"
                lock={lock}
                needs={chosen.length === 0 ? 'Select an alert first.' : null}
                isBusy={acts.isRunning}
                onPress={() => void ackAll(chosen)}
              />
              <Button label="Cancel" icon="close" onPress={() => setSelected(null)} />
            </>
          )}
        </View>
      )}
      {groups.map((group) => (
        <View
          key={group[0]?.groupId}
          style={group.length > 1 && [styles.group, { borderLeftColor: colors.lineStrong }]}
        >
          {group.length > 1 && (
            <View style={styles.cause}>
              <Text variant="label" color="textMuted">
                {`${count(group.length, 'alert')}, probably one cause`}
              </Text>
            </View>
          )}
          {group.map((alert) => {
            const canSelect = selected !== null && alert.state === 'firing'
            return (
              <AlertRow
                key={alert.id}
                alert={alert}
                isCurrent={alert.id === (current ?? openId)}
                isSelected={canSelect ? selected.has(alert.id) : null}
                lock={lock}
                onAck={selected === null && alert.state === 'firing' ? () => void acts.ack(alert) : null}
                onPress={() => (canSelect ? toggle(alert.id) : open(alert.id))}
              />
            )
          })}
        </View>
      ))}
    </>
  )
}

const without = (ids: ReadonlySet<string>, id: string) => [...ids].filter((each) => each !== id)

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

/** Keeps the view in the address, so that the list beside the alert stays the same. */
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
  bar: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    gap: space.s,
    paddingHorizontal: space.l,
    paddingBottom: space.m,
  },
  group: { borderLeftWidth: 3 },
  cause: { paddingHorizontal: space.l, paddingTop: space.m },
})
