import { memo, type ReactNode, useCallback, useMemo, useState } from 'react'
import { StyleSheet, useWindowDimensions, View } from 'react-native'
import { Icon } from '../../components/ui/icon.tsx'
import { Pressable } from '../../components/ui/pressable.tsx'
import { Box } from '../../components/ui/row.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Age, Until } from '../../components/ui/ticking.tsx'
import { serverNow } from '../../lib/clock.ts'
import { ago, duration, moment, number, shortId } from '../../lib/format.ts'
import { usePreference } from '../../lib/preferences.ts'
import { space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { type Column, type ColumnId, chosenColumns, fitting, LARGE } from './columns.ts'
import { JobList, type JobListProps } from './job-list.tsx'
import { JobState, stateInWords, waitOf } from './job-row.tsx'
import type { JobLine, Listing } from './queries.ts'

export const HEIGHTS = { comfortable: 48, compact: 32 } as const

const PREVIEW_WIDTH = 32

export interface JobTableProps extends Omit<JobListProps, 'rowHeight' | 'drawnBy' | 'children'> {
  readonly order: Listing['order']
  readonly onOrder: (order: Listing['order']) => void
  /** The job whose preview is open. */
  readonly previewId: string | null
  readonly onPreview: (id: string) => void
}

/** Jobs side by side with what is known of them: one line each. */
export function JobTable({ order, onOrder, previewId, onPreview, ...list }: JobTableProps) {
  const { colors } = useTheme()
  const [density] = usePreference('density')
  const [chosen] = usePreference('jobColumns')
  const isLarge = useWindowDimensions().width >= LARGE
  const [width, setWidth] = useState(0)
  const columns = useMemo(
    () => fitting(chosenColumns(chosen), width - 2 * space.l - PREVIEW_WIDTH, isLarge),
    [chosen, width, isLarge],
  )
  return (
    <View
      role="table"
      aria-label="Jobs"
      testID="job-table"
      style={styles.table}
      // One that is put away, behind a job, has no width.
      onLayout={({ nativeEvent: { layout } }) => layout.width > 0 && setWidth(layout.width)}
    >
      <View
        role="row"
        testID="job-table-head"
        style={[styles.row, styles.head, { borderBottomColor: colors.line }]}
      >
        {list.selected !== null && <View role="columnheader" aria-label="Selected" style={styles.check} />}
        {columns.map((column) => (
          <Head key={column.id} {...{ column, isLarge, order, onOrder }} />
        ))}
        <View role="columnheader" aria-label="Preview" style={styles.preview} />
      </View>
      {width > 0 && (
        <JobList {...list} rowHeight={HEIGHTS[density]} drawnBy={[columns, previewId]}>
          {(row) => (
            <JobTableRow
              {...row}
              {...{ columns, isLarge, onPreview }}
              isPreviewed={row.job.id === previewId}
            />
          )}
        </JobList>
      )}
    </View>
  )
}

interface HeadProps {
  readonly column: Column
  readonly isLarge: boolean
  readonly order: Listing['order']
  readonly onOrder: (order: Listing['order']) => void
}

/** The server has one order: by when jobs were created. Its column turns it around. */
function Head({ column, isLarge, order, onOrder }: HeadProps) {
  const label = (
    <Text variant="overline" color="textMuted" numberOfLines={1}>
      {column.label}
    </Text>
  )
  const isSorted = column.id === 'created'
  const ref = useCallback(
    (element: unknown) => {
      // react-native-web drops it.
      if (isSorted && element instanceof Object && 'setAttribute' in element)
        (element as Element).setAttribute('aria-sort', order === 'newest' ? 'descending' : 'ascending')
    },
    [isSorted, order],
  )
  return (
    <View role="columnheader" ref={ref} style={[styles.cell, sizeOf(column, isLarge)]}>
      {isSorted ? (
        <Pressable
          role="button"
          aria-label={order === 'newest' ? 'Created, newest first' : 'Created, oldest first'}
          onPress={() => onOrder(order === 'newest' ? 'oldest' : 'newest')}
          style={styles.sort}
        >
          {label}
          <View style={order === 'oldest' && styles.up}>
            <Icon name="down" size={14} color="accent" />
          </View>
        </Pressable>
      ) : (
        label
      )}
    </View>
  )
}

interface JobTableRowProps {
  readonly job: JobLine
  readonly height: number | undefined
  readonly isSelected: boolean | null
  readonly isCurrent: boolean
  readonly isPreviewed: boolean
  readonly columns: readonly Column[]
  readonly isLarge: boolean
  readonly onOpen: (id: string) => void
  readonly onSelect: (id: string) => void
  readonly onPreview: (id: string) => void
}

/** The whole row is what opens the job: it lies behind the cells, which let the pointer through. */
const JobTableRow = memo(function JobTableRow(props: JobTableRowProps) {
  const { job, height, isSelected, isCurrent, isPreviewed, columns, isLarge } = props
  const { onOpen, onSelect, onPreview } = props
  const { colors } = useTheme()
  const { id, topic, queue, error, created } = job
  const isOn = isCurrent || isPreviewed || isSelected === true
  const isSelectable = isSelected !== null
  const about = error ?? waitOf(job) ?? shortId(id)
  return (
    <View role="row" testID={`job-${id}`} style={[styles.row, { height, borderBottomColor: colors.line }]}>
      <View role="cell" style={styles.behind}>
        <Pressable
          role={isSelectable ? 'checkbox' : 'link'}
          spoken={`${topic} in ${queue}, ${stateInWords(job)}, ${about}, created ${ago(created, serverNow())}`}
          {...(isSelectable && { 'aria-checked': isSelected })}
          {...(isCurrent && { 'aria-current': 'true' as const })}
          isOn={isOn}
          onPress={() => (isSelectable ? onSelect(id) : onOpen(id))}
          onLongPress={() => onSelect(id)}
          style={[
            styles.whole,
            isOn && { backgroundColor: colors.surfacePressed, boxShadow: `inset 3px 0 0 ${colors.accent}` },
          ]}
        />
      </View>
      {isSelectable && (
        <View role="cell" style={[styles.through, styles.check]}>
          <Box isChecked={isSelected} />
        </View>
      )}
      {columns.map((column) => (
        <View key={column.id} role="cell" style={[styles.cell, styles.through, sizeOf(column, isLarge)]}>
          {CELLS[column.id](job, isLarge)}
        </View>
      ))}
      <View role="cell" style={styles.preview}>
        <Pressable
          role="button"
          aria-label={`Preview ${shortId(id)}`}
          aria-pressed={isPreviewed}
          onPress={() => onPreview(id)}
          style={styles.eye}
        >
          <Icon name="preview" size={16} color={isPreviewed ? 'accent' : 'lineStrong'} />
        </Pressable>
      </View>
    </View>
  )
})

const CELLS: Readonly<Record<ColumnId, (job: JobLine, isLarge: boolean) => ReactNode>> = {
  status: (job) => <JobState job={job} isShort />,
  topic: ({ topic }) => <Words strong>{topic}</Words>,
  id: ({ id }, isLarge) => (
    <Text variant="code" color="textMuted" numberOfLines={1}>
      {isLarge ? id : shortId(id)}
    </Text>
  ),
  created: ({ created }) => <Words isMuted>{moment(created)}</Words>,
  queue: ({ queue }) => <Words isMuted>{queue}</Words>,
  error: (job) => {
    const wait = waitOf(job)
    if (wait !== null) return <Words isMuted>{wait}</Words>
    return job.status === 'completed' ? null : <Words>{job.error}</Words>
  },
  next: ({ status, runAt }) =>
    status === 'pending' && (
      <Words isMuted>{runAt.getTime() > serverNow() ? <Until to={runAt} /> : 'now'}</Words>
    ),
  attempts: (job) => <Words isMuted>{attemptsInWords(job)}</Words>,
  duration: ({ status, startedAt, finishedAt }) =>
    startedAt && (
      <Words isMuted>
        {finishedAt ? (
          duration(finishedAt.getTime() - startedAt.getTime())
        ) : status === 'processing' ? (
          <Age from={startedAt} />
        ) : null}
      </Words>
    ),
  meta: ({ meta }) => (
    <Text variant="code" color="textMuted" numberOfLines={1}>
      {meta}
    </Text>
  ),
}

const attemptsInWords = ({ attempts, maxAttempts }: JobLine) =>
  `${number(attempts)} of ${number(maxAttempts)}`

interface WordsProps {
  readonly children: ReactNode
  readonly strong?: boolean
  readonly isMuted?: boolean
}

function Words({ children, strong = false, isMuted = false }: WordsProps) {
  return (
    <Text variant="small" strong={strong} color={isMuted ? 'textMuted' : 'text'} numberOfLines={1}>
      {children}
    </Text>
  )
}

function sizeOf({ width, large, grows = false }: Column, isLarge: boolean) {
  const own = isLarge ? large : width
  return grows ? { flexGrow: 1, flexShrink: 1, flexBasis: own, minWidth: 0 } : { width: own }
}

const styles = StyleSheet.create({
  table: { flex: 1, minHeight: 0 },
  row: {
    flexDirection: 'row',
    alignItems: 'center',
    paddingHorizontal: space.l,
    borderBottomWidth: StyleSheet.hairlineWidth,
  },
  head: { height: 36 },
  // Beside the columns: a state keeps its room.
  check: { width: 32, flexShrink: 0 },
  cell: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.s,
    paddingRight: space.m,
    overflow: 'hidden',
  },
  through: { pointerEvents: 'none' },
  behind: StyleSheet.absoluteFill,
  whole: { ...StyleSheet.absoluteFill, minHeight: 0 },
  sort: { flexDirection: 'row', alignItems: 'center', gap: 2, minHeight: 28, minWidth: 0, borderRadius: 4 },
  up: { transform: [{ rotate: '180deg' }] },
  preview: { width: PREVIEW_WIDTH, marginLeft: 'auto', alignItems: 'center' },
  eye: { minHeight: 28, minWidth: 28, alignItems: 'center', justifyContent: 'center', borderRadius: 6 },
})
