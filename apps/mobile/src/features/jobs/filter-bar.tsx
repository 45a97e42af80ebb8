import { type ReactNode, type RefObject, useState } from 'react'
import { StyleSheet, type TextInput, View } from 'react-native'
import { Chip, Chips, OrderChip } from '../../components/ui/chip.tsx'
import { STATES } from '../../components/ui/state-word.tsx'
import { useRead } from '../../lib/api.tsx'
import { useHealth } from '../../lib/use-health.ts'
import { space } from '../../theme/tokens.ts'
import { useIsDesk } from '../../theme/use-theme.ts'
import { TimeSheet } from '../desk-parts.tsx'
import { ChoiceChip } from '../failures/choice-chip.tsx'
import { chipOf, type JobFilter, STATUSES, statusesOf, timeInWords, toggleStatus } from './filter.ts'
import { type Found, type Listing, topics } from './queries.ts'
import { Readings, SearchField } from './search-field.tsx'
import type { TimeRange } from './time-sheet.tsx'
import type { Search } from './use-search.ts'

export interface FilterBarProps {
  readonly filter: JobFilter
  readonly search: Search
  readonly listed: Found | null
  /** Beside an open job, where there is no room for several rows of chips. */
  readonly isAside: boolean
  /** The order is chosen elsewhere. */
  readonly isTable: boolean
  readonly onChange: (filter: JobFilter) => void
  readonly order: Listing['order']
  readonly onOrder: (order: Listing['order']) => void
  readonly onOpen: (jobId: string) => void
  readonly searchRef: RefObject<TextInput | null>
}

/** Chooses the jobs to list: a search line, its possible meanings, and chips for the other filters. */
export function FilterBar(props: FilterBarProps) {
  const { filter, search, listed, isAside, isTable, onChange, order, onOrder, onOpen, searchRef } = props
  const areAllInSight = useIsDesk() && !isAside
  const health = useHealth()
  const known = useRead(topics)
  const change = (part: { readonly [Name in keyof JobFilter]: JobFilter[Name] | undefined }) =>
    onChange(
      Object.fromEntries(Object.entries({ ...filter, ...part }).filter(([, value]) => value !== undefined)),
    )

  return (
    <View style={styles.bar}>
      <SearchField key={search.line} {...{ search, onOpen, searchRef }} />
      <Readings {...{ search, listed }} />
      {/* Where not all are in sight, what is chosen comes first. Where they are, they stay where they are. */}
      <Chips key={areAllInSight ? 'all' : JSON.stringify([filter, order])} wraps={areAllInSight}>
        {REMOVABLE.map((name) => {
          const label = chipOf(name, filter)
          return (
            label !== null && (
              <Chip key={name} label={label} isOn isRemovable onPress={() => change({ [name]: undefined })} />
            )
          )
        })}
        {(areAllInSight ? inOrder : chosenFirst)([
          ...STATUSES.map((status) => ({
            isChosen: statusesOf(filter).includes(status),
            chip: (
              <Chip
                key={status}
                label={STATES[status].word}
                icon={STATES[status].icon}
                isOn={statusesOf(filter).includes(status)}
                onPress={() => change({ status: toggleStatus(filter, status) })}
              />
            ),
          })),
          {
            isChosen: filter.queue !== undefined,
            chip: (
              <ChoiceChip
                key="queue"
                label="Queue"
                options={(health.data?.queues ?? []).map(({ queue }) => queue).sort()}
                value={filter.queue}
                onChange={(queue) => change({ queue })}
              />
            ),
          },
          {
            isChosen: filter.topic !== undefined,
            chip: (
              <ChoiceChip
                key="topic"
                label="Topic"
                options={(known.data ?? []).map(({ topic }) => topic)}
                value={filter.topic}
                onChange={(topic) => change({ topic })}
              />
            ),
          },
          {
            isChosen: timeInWords(filter) !== null,
            chip: (
              <TimeChip
                key="time"
                createdFrom={filter.createdFrom}
                createdTo={filter.createdTo}
                // A payload search needs a start time, so both are cleared together.
                onClear={() =>
                  change({ createdFrom: undefined, createdTo: undefined, payloadText: undefined })
                }
                onChange={change}
              />
            ),
          },
          ...(isTable
            ? []
            : [{ isChosen: order === 'oldest', chip: <JobOrder key="order" {...{ order, onOrder }} /> }]),
        ])}
      </Chips>
    </View>
  )
}

const ORDERS = [
  { value: 'newest', words: 'newest first' },
  { value: 'oldest', words: 'oldest first' },
] as const

export function JobOrder({ order, onOrder }: Pick<FilterBarProps, 'order' | 'onOrder'>) {
  return <OrderChip<Listing['order']> orders={ORDERS} value={order} onChange={onOrder} />
}

const REMOVABLE = ['idPrefix', 'idSuffix', 'payloadText', 'errorText', 'fingerprint'] as const

interface Choice {
  readonly isChosen: boolean
  readonly chip: ReactNode
}

const inOrder = (all: readonly Choice[]): ReactNode[] => all.map(({ chip }) => chip)

function chosenFirst(all: readonly Choice[]): ReactNode[] {
  const chips = (isChosen: boolean) =>
    all.filter((each) => each.isChosen === isChosen).map(({ chip }) => chip)
  return [...chips(true), ...chips(false)]
}

interface TimeChipProps extends TimeRange {
  readonly onChange: (range: TimeRange) => void
  readonly onClear: () => void
}

/** From when to when. Pressed while it is chosen, it is taken away. */
function TimeChip({ onChange, onClear, ...range }: TimeChipProps) {
  const [isOpen, setOpen] = useState(false)
  const label = timeInWords(range)
  return (
    <>
      {label === null ? (
        <Chip label="Time" icon="filter" onPress={() => setOpen(true)} />
      ) : (
        <Chip label={label} isOn isRemovable onPress={onClear} />
      )}
      {isOpen && <TimeSheet {...range} onChange={onChange} onClose={() => setOpen(false)} />}
    </>
  )
}

const styles = StyleSheet.create({
  bar: { gap: space.xs },
})
