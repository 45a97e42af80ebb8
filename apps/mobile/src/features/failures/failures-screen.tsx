import { useFocusEffect, useRouter } from 'expo-router'
import { useCallback, useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Chip, Chips } from '../../components/ui/chip.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { number } from '../../lib/format.ts'
import { useCursor } from '../../lib/use-cursor.ts'
import { useHealth } from '../../lib/use-health.ts'
import { space } from '../../theme/tokens.ts'
import { useIsWide } from '../../theme/use-theme.ts'
import { ChoiceChip } from './choice-chip.tsx'
import { FailureRow } from './failure-row.tsx'
import { paramsOf, useFailureFilter, WINDOW_OPTIONS, WINDOWS } from './filter.ts'
import { errorOf, type FailureGroup, failureGroups, MAX_GROUPS } from './queries.ts'
import { useSteady } from './steady.ts'

/** What fails, by its cause. */
export function FailuresScreen({ openId }: { readonly openId?: string }) {
  const { filter, change, clear } = useFailureFilter()
  const read = useRead(failureGroups(filter))
  const { rows, waiting, show } = useSteady(read.data, fingerprintOf, JSON.stringify([filter, useVisit()]))
  const open = useOpenGroup(openId !== undefined)
  const current = useCursor(
    rows.map(({ item }) => fingerprintOf(item)),
    { onOpen: open, openId },
  )
  const isFiltered = filter.queue !== undefined || filter.topic !== undefined

  return (
    <Page
      title="Failures"
      isAside={openId !== undefined}
      onRefresh={() => {
        show()
        void read.refetch()
      }}
    >
      <View style={styles.filters}>
        <View style={styles.window}>
          <Segmented
            label="Time range"
            options={WINDOW_OPTIONS}
            value={filter.window}
            onChange={(window) => change({ window })}
          />
        </View>
        <Chips>
          <ChoiceChip
            label="Queue"
            options={useQueueNames()}
            value={filter.queue}
            onChange={(queue) => change({ queue })}
          />
          <ChoiceChip
            label="Topic"
            options={topicsOf(read.data ?? [])}
            value={filter.topic}
            onChange={(topic) => change({ topic })}
          />
          {waiting > 0 && (
            <Chip label={`${number(waiting)} new – tap to show`} icon="refresh" isOn onPress={show} />
          )}
        </Chips>
      </View>
      <ReadState
        read={read}
        isEmpty={() => waiting === 0 && rows.every(({ isGone }) => isGone)}
        empty={{
          title: 'No failed jobs',
          text: `No job ran out of retries in ${WINDOWS[filter.window].words}. Jobs that will be retried are not counted.`,
        }}
        onClearFilter={isFiltered ? clear : undefined}
      >
        {(groups) => (
          <>
            {rows.map(({ item, isGone }) => (
              <FailureRow
                key={item.fingerprint}
                group={{ ...item, ...errorOf(item) }}
                isGone={isGone}
                isCurrent={item.fingerprint === (current ?? openId)}
                onPress={() => open(item.fingerprint)}
              />
            ))}
            {groups.length === MAX_GROUPS && (
              <Text variant="small" color="textMuted" center style={styles.rest}>
                These are the {MAX_GROUPS} errors seen last; there may be more.
              </Text>
            )}
          </>
        )}
      </ReadState>
    </Page>
  )
}

const fingerprintOf = ({ fingerprint }: FailureGroup) => fingerprint

const topicsOf = (groups: readonly FailureGroup[]) =>
  [...new Set(groups.flatMap(({ topics }) => topics))].sort()

function useQueueNames(): readonly string[] {
  const { data } = useHealth()
  return (data?.queues ?? []).map(({ queue }) => queue).sort()
}

/** With the filter, which the list beside it, and the way back, still need. */
function useOpenGroup(isBeside: boolean): (fingerprint: string) => void {
  const router = useRouter()
  const isWide = useIsWide()
  const { filter } = useFailureFilter()
  return (fingerprint) => {
    if (isWide && isBeside) router.setParams({ fingerprint })
    else router.push({ pathname: '/failures/[fingerprint]', params: { fingerprint, ...paramsOf(filter) } })
  }
}

/** Who comes back to the list looks at it anew: no thumb is on it. */
function useVisit(): number {
  const [visit, setVisit] = useState(0)
  useFocusEffect(useCallback(() => setVisit((last) => last + 1), []))
  return visit
}

const styles = StyleSheet.create({
  filters: { gap: space.xs, paddingBottom: space.s },
  window: { paddingHorizontal: space.l },
  rest: { padding: space.l },
})
