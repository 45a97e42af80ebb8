import { useFocusEffect, useRouter } from 'expo-router'
import { useCallback, useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Chip, Chips, OrderChip } from '../../components/ui/chip.tsx'
import { Field } from '../../components/ui/field.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { count, number } from '../../lib/format.ts'
import { useCursor } from '../../lib/use-cursor.ts'
import { useHealth } from '../../lib/use-health.ts'
import { space } from '../../theme/tokens.ts'
import { useIsWide } from '../../theme/use-theme.ts'
import type { Action } from '../bulk-operations/words.ts'
import { SelectionBar } from '../jobs/selection-bar.tsx'
import { isSelected, useSelection } from '../jobs/use-selection.ts'
import { ChoiceChip } from './choice-chip.tsx'
import { FailureRow } from './failure-row.tsx'
import { type FailureFilter, paramsOf, useFailureFilter, WINDOW_OPTIONS, WINDOWS } from './filter.ts'
import { GroupsSheet } from './groups-sheet.tsx'
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
  const { selected, ...selection } = useSelection(JSON.stringify(filter))
  const [asked, setAsked] = useState<Action | null>(null)
  const chosen = rows.flatMap(({ item }) => (isSelected(selected, item.fingerprint) ? [item] : []))
  const isFiltered = [filter.queue, filter.topic, filter.text].some((part) => part !== undefined)

  return (
    <Page
      title="Failures"
      isAside={openId !== undefined}
      actions={
        selected === null &&
        rows.some(({ isGone }) => !isGone) && (
          <Button label="Select" icon="check" variant="quiet" onPress={selection.start} />
        )
      }
      bar={
        selected !== null && (
          <SelectionBar
            words={`${count(chosen.length, 'error')} selected`}
            noun="errors"
            isNone={chosen.length === 0}
            onAct={setAsked}
            onClose={selection.end}
          />
        )
      }
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
        <TextFilter text={filter.text} onChange={(text) => change({ text })} />
        <Chips>
          <OrderChip<FailureFilter['sort']>
            orders={ORDERS}
            value={filter.sort}
            onChange={(sort) => change({ sort })}
          />
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
          title: 'No failures',
          text: `No job is retrying, and none ran out of retries in ${WINDOWS[filter.window].words}.`,
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
                isSelected={isSelected(selected, item.fingerprint)}
                onPress={() =>
                  selected === null ? open(item.fingerprint) : selection.toggle(item.fingerprint)
                }
                onLongPress={() => selection.toggle(item.fingerprint)}
              />
            ))}
            {groups.length === MAX_GROUPS && (
              <Text variant="small" color="textMuted" center style={styles.rest}>
                {`These are the ${MAX_GROUPS} ${filter.sort === 'largest' ? 'largest errors' : 'errors seen last'}; there may be more.`}
              </Text>
            )}
          </>
        )}
      </ReadState>
      {asked && (
        <GroupsSheet
          action={asked}
          groups={chosen}
          onClose={() => setAsked(null)}
          onDone={() => {
            setAsked(null)
            selection.end()
          }}
        />
      )}
    </Page>
  )
}

const ORDERS = [
  { value: 'latest', words: 'last seen first' },
  { value: 'largest', words: 'largest first' },
] as const

/** Requested on Enter, not with each letter. */
function TextFilter(props: {
  readonly text: string | undefined
  readonly onChange: (text: string | undefined) => void
}) {
  const [typed, setTyped] = useState(props.text ?? '')
  return (
    <View style={styles.window}>
      <Field
        label="Filter by class or message"
        placeholder="Class or message"
        isBare
        inputMode="search"
        returnKeyType="search"
        value={typed}
        onChangeText={(text) => {
          setTyped(text)
          if (text === '') props.onChange(undefined)
        }}
        onSubmitEditing={() => props.onChange(typed.trim() || undefined)}
      />
    </View>
  )
}

const fingerprintOf = ({ fingerprint }: FailureGroup) => fingerprint

const topicsOf = (groups: readonly FailureGroup[]) =>
  [...new Set(groups.flatMap(({ topics }) => topics))].sort()

function useQueueNames(): readonly string[] {
  const { data } = useHealth()
  return (data?.queues ?? []).map(({ queue }) => queue).sort()
}

/** Keeps the filter in the address: the list beside the group and the way back need it. */
function useOpenGroup(isBeside: boolean): (fingerprint: string) => void {
  const router = useRouter()
  const isWide = useIsWide()
  const { filter } = useFailureFilter()
  return (fingerprint) => {
    if (isWide && isBeside) router.setParams({ fingerprint })
    else router.push({ pathname: '/failures/[fingerprint]', params: { fingerprint, ...paramsOf(filter) } })
  }
}

/** Counts visits: on return the list may be sorted again, since no thumb is on a row. */
function useVisit(): number {
  const [visit, setVisit] = useState(0)
  useFocusEffect(useCallback(() => setVisit((last) => last + 1), []))
  return visit
}

const styles = StyleSheet.create({
  filters: { gap: space.m, paddingBottom: space.s },
  window: { paddingHorizontal: space.l },
  rest: { padding: space.l },
})
