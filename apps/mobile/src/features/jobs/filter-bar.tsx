import { type ReactNode, type RefObject, useState } from 'react'
import { StyleSheet, type TextInput, View } from 'react-native'
import { Chip, Chips } from '../../components/ui/chip.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { STATES } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { useHealth } from '../../lib/use-health.ts'
import { space } from '../../theme/tokens.ts'
import { ChoiceChip } from '../failures/choice-chip.tsx'
import { chipOf, type JobFilter, STATUSES } from './filter.ts'
import { topics } from './queries.ts'
import { Readings, SearchField } from './search-field.tsx'
import type { Search } from './use-search.ts'

export interface FilterBarProps {
  readonly filter: JobFilter
  readonly search: Search
  readonly onChange: (filter: JobFilter) => void
  readonly onOpen: (jobId: string) => void
  readonly searchRef: RefObject<TextInput | null>
}

/** Which jobs: one line to search by, what it may mean, and chips for all else. */
export function FilterBar({ filter, search, onChange, onOpen, searchRef }: FilterBarProps) {
  const health = useHealth()
  const known = useRead(topics)
  const change = (part: { readonly [Name in keyof JobFilter]: JobFilter[Name] | undefined }) =>
    onChange(
      Object.fromEntries(Object.entries({ ...filter, ...part }).filter(([, value]) => value !== undefined)),
    )

  return (
    <View style={styles.bar}>
      <SearchField key={search.line} {...{ search, onOpen, searchRef }} />
      <Readings search={search} />
      {/* What is chosen comes first, and into sight. */}
      <Chips key={JSON.stringify(filter)}>
        {REMOVABLE.map((name) => {
          const label = chipOf(name, filter)
          return (
            label !== null && (
              <Chip key={name} label={label} isOn isRemovable onPress={() => change({ [name]: undefined })} />
            )
          )
        })}
        {chosenFirst([
          ...STATUSES.map((status) => ({
            isChosen: filter.status === status,
            chip: (
              <Chip
                key={status}
                label={STATES[status].word}
                icon={STATES[status].icon}
                isOn={filter.status === status}
                onPress={() => change({ status: filter.status === status ? undefined : status })}
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
            isChosen: filter.createdFrom !== undefined,
            chip: (
              <TimeChip
                key="time"
                label={chipOf('createdFrom', filter)}
                // A text needs a beginning: they go together.
                onClear={() => change({ createdFrom: undefined, payloadText: undefined })}
                onChange={(createdFrom) => change({ createdFrom })}
              />
            ),
          },
        ])}
      </Chips>
    </View>
  )
}

const REMOVABLE = ['idPrefix', 'idSuffix', 'payloadText', 'errorText', 'fingerprint', 'createdTo'] as const

function chosenFirst(all: readonly { readonly isChosen: boolean; readonly chip: ReactNode }[]): ReactNode[] {
  const chips = (isChosen: boolean) =>
    all.filter((each) => each.isChosen === isChosen).map(({ chip }) => chip)
  return [...chips(true), ...chips(false)]
}

const HOUR_MS = 3_600_000
const TIMES = [
  { label: 'The last 15 minutes', ms: HOUR_MS / 4 },
  { label: 'The last hour', ms: HOUR_MS },
  { label: 'The last 24 hours', ms: 24 * HOUR_MS },
  { label: 'The last 7 days', ms: 7 * 24 * HOUR_MS },
]

interface TimeChipProps {
  readonly label: string | null
  readonly onChange: (from: Date) => void
  readonly onClear: () => void
}

/** Since when. It is a moment from then on: a link to it shows the same to everybody. */
function TimeChip({ label, onChange, onClear }: TimeChipProps) {
  const [isOpen, setOpen] = useState(false)
  if (label !== null) return <Chip label={label} isOn isRemovable onPress={onClear} />
  return (
    <>
      <Chip label="Time" icon="filter" onPress={() => setOpen(true)} />
      <Sheet isOpen={isOpen} title="Created in" onClose={() => setOpen(false)}>
        {TIMES.map((time) => (
          <Row
            key={time.label}
            label={time.label}
            onPress={() => {
              setOpen(false)
              onChange(new Date(serverNow() - time.ms))
            }}
          >
            <Text>{time.label}</Text>
          </Row>
        ))}
      </Sheet>
    </>
  )
}

const styles = StyleSheet.create({
  bar: { gap: space.xs },
})
