import { useIsFocused } from 'expo-router'
import { type ReactElement, useEffect, useRef, useState } from 'react'
import { FlatList, StyleSheet, View } from 'react-native'
import { Button } from '../../components/ui/button.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useFontScale } from '../../lib/font-scale.ts'
import { count } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { useIsLargeText } from '../../theme/use-theme.ts'
import { JobRow, ROW_HEIGHT } from './job-row.tsx'
import type { JobLine } from './queries.ts'
import { idOf, type JobList as List } from './use-job-list.ts'
import { isSelected, type Selected } from './use-selection.ts'

export interface JobListProps {
  readonly list: List
  readonly selected: Selected
  /** The row that the keyboard is at. */
  readonly cursor: string | null
  readonly openId: string | undefined
  readonly onOpen: (id: string) => void
  readonly onSelect: (id: string) => void
  /** Of rows that are not the usual ones. */
  readonly rowHeight?: number
  readonly children?: (row: ListedRow) => ReactElement
  /** What such rows depend on beside their job. */
  readonly drawnBy?: readonly unknown[]
}

interface ListedRow {
  readonly job: JobLine
  /** None: as high as what it says. */
  readonly height: number | undefined
  readonly isSelected: boolean | null
  readonly isCurrent: boolean
  readonly onOpen: (id: string) => void
  readonly onSelect: (id: string) => void
}

/** Only rows in sight are drawn, however many there are. */
export function JobList(props: JobListProps) {
  const { list, selected, cursor, openId, onOpen, onSelect, rowHeight = ROW_HEIGHT, drawnBy = [] } = props
  const { children: draw = usualRow } = props
  const { jobs } = list
  const usual = Math.round(rowHeight * Math.max(1, useFontScale()))
  // Large text wraps, so rows have no fixed height.
  const height = useIsLargeText() ? undefined : usual
  const ref = useRef<FlatList<JobLine>>(null)
  // The list is mounted again beside a detail: it starts at the open row.
  const [first] = useState(() => Math.max(0, jobs.findIndex(({ id }) => id === openId) - 3))
  const index = cursor === null ? -1 : jobs.findIndex(({ id }) => id === cursor)
  useEffect(() => {
    if (index >= 0) ref.current?.scrollToIndex({ index, viewPosition: 0.5, animated: false })
  }, [index])

  // Tracked here: FlatList does not report the end after a jump, as by the End key.
  const seen = useRef({ offset: 0, height: 0 })
  const isFocused = useIsFocused()
  useEffect(() => {
    const { offset } = seen.current
    if (isFocused && offset > 0) ref.current?.scrollToOffset({ offset, animated: false })
  }, [isFocused])
  const { more, read } = list
  const lookAhead = () => {
    const { offset, height: shown } = seen.current
    if (shown > 0 && offset + 3 * shown > jobs.length * usual) more()
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: checked again whenever jobs have arrived.
  useEffect(lookAhead, [jobs.length, read.isFetching])

  return (
    <FlatList
      ref={ref}
      testID="job-list"
      style={styles.list}
      data={jobs}
      keyExtractor={idOf}
      extraData={[selected, cursor, openId, usual, ...drawnBy]}
      {...(height !== undefined && {
        getItemLayout: (_: unknown, at: number) => ({ length: height, offset: height * at, index: at }),
      })}
      onScrollToIndexFailed={({ index: far, averageItemLength }) =>
        ref.current?.scrollToOffset({ offset: far * (averageItemLength || usual), animated: false })
      }
      {...(first > 0 && { initialScrollIndex: first })}
      initialNumToRender={20}
      windowSize={7}
      onLayout={({ nativeEvent }) => {
        seen.current.height = nativeEvent.layout.height
        lookAhead()
      }}
      onScroll={({ nativeEvent }) => {
        // A list that is put away is scrolled to its top by the browser.
        if (!isFocused) return
        seen.current.offset = nativeEvent.contentOffset.y
        lookAhead()
      }}
      scrollEventThrottle={50}
      renderItem={({ item }) =>
        draw({
          ...{ job: item, height, onOpen, onSelect },
          isSelected: isSelected(selected, item.id),
          isCurrent: item.id === (cursor ?? openId),
        })
      }
      ListFooterComponent={<Footer list={list} />}
    />
  )
}

const usualRow = ({ onOpen, ...row }: ListedRow) => <JobRow {...row} onPress={onOpen} />

function Footer({ list }: { readonly list: List }) {
  const { search, jobs, read } = list
  const found = `${count(jobs.length, 'job')} found so far`
  if (search === 'running')
    return (
      <View style={styles.footer} role="status">
        <Text color="textMuted">Searching… {found}.</Text>
        <View>
          <Button label="Stop" icon="stop" onPress={list.stopSearch} />
        </View>
      </View>
    )
  if (search === 'stopped')
    return (
      <View style={styles.footer} role="status">
        <Text color="textMuted">Stopped. {found}; there may be older ones.</Text>
        <View>
          <Button label="Search further" icon="search" onPress={list.goOn} />
        </View>
      </View>
    )
  if (read.isFetchingNextPage)
    return (
      <View style={styles.footer} role="status">
        <Text color="textMuted">Loading more…</Text>
      </View>
    )
  return <View style={styles.end} />
}

const styles = StyleSheet.create({
  list: { flex: 1 },
  footer: { alignItems: 'center', gap: space.m, padding: space.xl },
  end: { height: space.xxl },
})
