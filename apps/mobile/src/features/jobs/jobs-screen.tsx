import { isJobId } from '@oncue/sdk'
import { useLocalSearchParams, useRouter } from 'expo-router'
import { type ReactNode, useCallback, useMemo, useRef, useState } from 'react'
import { StyleSheet, type TextInput, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Chip } from '../../components/ui/chip.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'
import { Text } from '../../components/ui/text.tsx'
import { number } from '../../lib/format.ts'
import { useCursor } from '../../lib/use-cursor.ts'
import { useKeyboard } from '../../lib/use-keyboard.ts'
import { space } from '../../theme/tokens.ts'
import { useIsDesk, useIsLargeText, useIsWide } from '../../theme/use-theme.ts'
import { ConfirmSheet } from '../bulk-operations/confirm-sheet.tsx'
import { type Action, jobs, many } from '../bulk-operations/words.ts'
import { JobPreview, JobTable, ViewSheet } from '../desk-parts.tsx'
import { ActSheet } from './act-sheet.tsx'
import { type FilterParams, filterOf, type JobFilter, NO_PARAMS, paramsOf } from './filter.ts'
import { FilterBar, JobOrder } from './filter-bar.tsx'
import { JobList } from './job-list.tsx'
import type { JobTableProps } from './job-table.tsx'
import { NothingFound } from './nothing-found.tsx'
import type { Listing } from './queries.ts'
import { SelectionBar } from './selection-bar.tsx'
import { idOf, type JobList as List, useJobList } from './use-job-list.ts'
import { type SearchParams, useSearch } from './use-search.ts'
import { useSelection } from './use-selection.ts'

/** A list of jobs; the address holds the filter. */
export function JobsScreen({ openId }: { readonly openId?: string }) {
  const { given, params, order, preview, change, set } = useJobFilter()
  const search = useSearch(given, params, set)
  const { filter } = search
  const { selected, ...selection } = useSelection(filter)
  const list = useJobList({ filter, order }, selected !== null)
  const open = useOpenJob(params, openId !== undefined)
  const field = useRef<TextInput>(null)
  const [acting, setActing] = useState<Acting | null>(null)
  const begin = (action: Action, which: Acting['ids']) =>
    setActing({ action, ids: which, filter, total: list.total })
  const isLargeText = useIsLargeText()
  const isTable = useIsDesk() && !isLargeText && openId === undefined
  const [isViewOpen, setViewOpen] = useState(false)
  const setOrder = (next: Listing['order']) => set({ order: next === 'oldest' ? next : undefined })
  const cursor = useCursor(list.jobs.map(idOf), { onOpen: open, onSelect: selection.toggle, openId })
  const ids = selected instanceof Set ? [...selected] : []
  // Beside an open job, the key acts on that job, unless rows are selected here.
  const target = ids.length > 0 ? ids : cursor !== null && openId === undefined ? [cursor] : []
  // With the cursor, the preview goes on to the next job.
  const previewId = isTable && preview !== null ? (cursor ?? preview) : null
  const togglePreview = (id: string) => set({ preview: id === previewId ? undefined : id })
  const closePreview = () => set({ preview: undefined })
  useKeyboard({
    '/': () => field.current?.focus(),
    ...(target.length > 0 && { r: () => begin('requeue', target) }),
    ...(selected !== null ? { Escape: selection.end } : previewId !== null && { Escape: closePreview }),
    ...(isTable && cursor !== null && { p: () => togglePreview(cursor) }),
  })
  const isFiltered = Object.keys(filter).length > 0
  const all = many(list.total.count, list.total.isExact)
  const isNothing = list.jobs.length === 0 && list.search === null

  return (
    <Page
      title="Jobs"
      // With a rail, Jobs is a destination of its own and needs no back button.
      {...(!useIsWide() && { parent: '/settings' as const })}
      isList
      isAside={openId !== undefined}
      actions={
        selected === null &&
        list.jobs.length > 0 && (
          <Button label="Select" icon="check" variant="quiet" onPress={selection.start} />
        )
      }
      bar={
        selected !== null && (
          <SelectionBar
            words={selected === 'all' ? `All ${all} that match` : `${jobs(ids.length)} selected`}
            isNone={selected !== 'all' && ids.length === 0}
            onAct={(action) => begin(action, selected === 'all' ? null : ids)}
            onClose={selection.end}
          />
        )
      }
    >
      <FilterBar
        filter={given}
        {...{ search, order, isTable }}
        isAside={openId !== undefined}
        listed={list.read.data && list.search === null ? foundOf(list.total) : null}
        onChange={change}
        onOrder={setOrder}
        onOpen={open}
        searchRef={field}
      />
      <Count {...{ list, order }}>
        {isTable && <JobOrder order={order} onOrder={setOrder} />}
        {isTable && <Chip label="View" icon="columns" onPress={() => setViewOpen(true)} />}
        {selected !== null && selected !== 'all' && list.total.count > ids.length && (
          <Chip
            label={isFiltered ? `Select all ${all} that match` : `Select all ${all}: needs a filter`}
            needs={isFiltered ? null : NO_FILTER}
            onPress={selection.all}
          />
        )}
      </Count>
      {search.line !== '' && search.chosen === null ? (
        <EmptyState
          icon="search"
          title="Cannot search"
          text="Correct the line above, or clear it."
          action={{ label: 'Clear search', onPress: () => search.search('') }}
        />
      ) : (
        <ReadState
          read={list.read}
          isEmpty={() => isNothing && search.chosen === null}
          empty={{ title: 'No jobs yet', text: 'Enqueued jobs appear here.', icon: 'jobs' }}
          onClearFilter={isFiltered ? () => change({}) : undefined}
        >
          {() =>
            isNothing ? (
              <NothingFound search={search} />
            ) : (
              <Listed
                // A new filter starts at the top of its list.
                key={JSON.stringify([filter, order])}
                {...{ list, selected, cursor, openId, order, isTable, previewId }}
                onOpen={open}
                onSelect={selection.toggle}
                onOrder={setOrder}
                onPreview={togglePreview}
              />
            )
          }
        </ReadState>
      )}
      {isViewOpen && <ViewSheet onClose={() => setViewOpen(false)} />}
      {acting && <ActOn {...{ acting, list }} onClose={() => setActing(null)} onDone={selection.end} />}
    </Page>
  )
}

const foundOf = ({ count, isExact }: List['total']) => ({ total: count, isExact, isCut: false })

const NO_FILTER = 'Choose a filter first. Without one, this would affect every job.'

/** A table where there is room, with a job beside it if one is previewed; else two lines for each job. */
function Listed({ isTable, ...props }: JobTableProps & { readonly isTable: boolean }) {
  const { order, onOrder, previewId, onPreview, ...list } = props
  if (!isTable) return <JobList {...list} />
  return (
    <View style={styles.beside}>
      <View style={styles.table}>
        <JobTable {...props} />
      </View>
      {previewId !== null && (
        <View style={styles.preview}>
          <JobPreview
            key={previewId}
            jobId={previewId}
            onOpen={list.onOpen}
            onClose={() => onPreview(previewId)}
          />
        </View>
      )}
    </View>
  )
}

interface CountProps {
  readonly list: List
  readonly order: Listing['order']
  readonly children: ReactNode
}

function Count({ list: { total, waiting, restart, read }, order, children }: CountProps) {
  return (
    <View style={styles.count} testID="job-count">
      <Text variant="small" color="textMuted" style={styles.words} role="status">
        {read.data && total.count > 0
          ? `${many(total.count, total.isExact)} ${total.count === 1 ? 'job' : 'jobs'}, ${order} first`
          : ' '}
      </Text>
      {children}
      {waiting > 0 && (
        <Chip label={`${number(waiting)} new – tap to show`} icon="refresh" isOn onPress={restart} />
      )}
    </View>
  )
}

interface Acting {
  readonly action: Action
  /** Null: all matching jobs. */
  readonly ids: readonly string[] | null
  /** The filter at the moment of the press. */
  readonly filter: JobFilter
  readonly total: List['total']
}

interface ActOnProps {
  readonly acting: Acting
  readonly list: List
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Selected jobs are named one by one; all that match are a bulk operation on the server. */
function ActOn({ acting: { action, ids, filter, total }, list, onClose, onDone }: ActOnProps) {
  if (ids === null)
    return (
      <ConfirmSheet
        action={action}
        filter={filter}
        {...(total.isExact && { count: total.count })}
        onClose={onClose}
        onDone={onDone}
      />
    )
  return <ActSheet {...{ action, ids, onClose, onDone }} known={list.jobs} />
}

/** The filter lives in the address: it survives a reload, a link, and whatever was done in between. */
function useJobFilter() {
  const router = useRouter()
  const all = useLocalSearchParams()
  const text = JSON.stringify(paramsOf(filterOf(all)))
  const given = useMemo(() => filterOf(JSON.parse(text)), [text])
  const order: Listing['order'] = all.order === 'oldest' ? 'oldest' : 'newest'
  const params: ListParams = {
    ...paramsOf(given),
    ...(typeof all.q === 'string' && all.q !== '' && { q: all.q }),
    ...(typeof all.as === 'string' && all.as !== '' && { as: all.as }),
    ...(order === 'oldest' && { order }),
  }
  return {
    given,
    params,
    order,
    preview: typeof all.preview === 'string' && isJobId(all.preview) ? all.preview : null,
    change: (next: JobFilter) => {
      const isCleared = Object.keys(next).length === 0
      router.setParams({ ...NO_PARAMS, ...paramsOf(next), ...(isCleared && { q: undefined, as: undefined }) })
    },
    set: (next: SearchParams & { order?: 'oldest' | undefined; preview?: string | undefined }) =>
      router.setParams({ ...next }),
  }
}

/** What the list beside a job still needs. */
type ListParams = FilterParams & SearchParams & { readonly order?: 'oldest' }

/** Keeps the filter in the address, for the list beside the job. */
function useOpenJob(params: ListParams, isBeside: boolean): (jobId: string) => void {
  const router = useRouter()
  const isWide = useIsWide()
  const kept = JSON.stringify(isWide ? params : {})
  return useCallback(
    (jobId) => {
      if (isWide && isBeside) router.setParams({ jobId })
      else router.push({ pathname: '/jobs/[jobId]', params: { jobId, ...JSON.parse(kept) } })
    },
    [router, isWide, isBeside, kept],
  )
}

const styles = StyleSheet.create({
  count: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    gap: space.s,
    paddingHorizontal: space.l,
    paddingVertical: space.xs,
  },
  beside: { flex: 1, flexDirection: 'row', minHeight: 0 },
  table: { flex: 1, minWidth: 0 },
  preview: { width: '38%', minWidth: 340, maxWidth: 720 },
  words: { flexGrow: 1, flexShrink: 1, flexBasis: 'auto' },
})
