import { useState } from 'react'
import { FlatList, RefreshControl, StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Chip, Chips } from '../../components/ui/chip.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Ago } from '../../components/ui/ticking.tsx'
import { usePages } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { ago } from '../../lib/format.ts'
import { useSignedIn } from '../../lib/session.ts'
import { useHeld } from '../../lib/use-held.ts'
import { space } from '../../theme/tokens.ts'
import { useIsWide } from '../../theme/use-theme.ts'
import { EntrySheet } from './entry-sheet.tsx'
import { type ActivityFilter, activity, type Entry } from './queries.ts'
import { deedOf, deviceOf, GROUPS, targetOf } from './words.ts'

/** Who did what, from where, to how many. */
export function ActivityScreen() {
  const { me } = useSignedIn()
  const isAllowed = !me || me.may.includes('act')
  return (
    <Page title="Activity" parent="/settings" isList>
      {isAllowed ? (
        <Entries />
      ) : (
        <EmptyState
          icon="lock"
          title="No access"
          text={`Activity is visible to operators and admins. Your role is ${me?.role ?? 'none'}.`}
        />
      )}
    </Page>
  )
}

function Entries() {
  const [filter, setFilter] = useState<ActivityFilter>({})
  const [opened, setOpened] = useState<Entry | null>(null)
  const read = usePages(activity(filter))
  const latest = read.data?.pages.flatMap(({ items }) => items) ?? []
  const held = useHeld(latest, { isHeld: opened !== null, idOf: ({ id }) => id })
  const isFiltered = filter.group !== undefined || filter.actor !== undefined
  return (
    <>
      <Filters filter={filter} onChange={setFilter} />
      <ReadState
        read={read}
        isEmpty={() => latest.length === 0}
        empty={{
          icon: 'activity',
          title: 'No activity yet',
          text: 'Changes made by people appear here.',
        }}
        onClearFilter={isFiltered ? () => setFilter({}) : undefined}
      >
        {() => (
          <FlatList
            data={held.items}
            keyExtractor={({ id }) => id}
            renderItem={({ item }) => <EntryRow entry={item} onPress={() => setOpened(item)} />}
            onEndReached={() => {
              if (read.hasNextPage && !read.isFetchingNextPage) void read.fetchNextPage()
            }}
            refreshControl={<RefreshControl refreshing={false} onRefresh={() => void read.refetch()} />}
            contentContainerStyle={styles.list}
          />
        )}
      </ReadState>
      {opened && (
        <EntrySheet
          entry={opened}
          onClose={() => setOpened(null)}
          onFilter={() => {
            setFilter({ ...filter, actor: opened.actor })
            setOpened(null)
          }}
        />
      )}
    </>
  )
}

interface FiltersProps {
  readonly filter: ActivityFilter
  readonly onChange: (filter: ActivityFilter) => void
}

function Filters({ filter, onChange }: FiltersProps) {
  return (
    <View style={styles.filters}>
      <Chips wraps={useIsWide()}>
        {filter.actor && (
          <Chip
            label={`By ${filter.actor.name || filter.actor.id}`}
            isOn
            isRemovable
            onPress={() => onChange({ group: filter.group })}
          />
        )}
        <Chip
          label="All"
          isOn={filter.group === undefined}
          onPress={() => onChange({ actor: filter.actor })}
        />
        {Object.entries(GROUPS).map(([group, label]) => (
          <Chip
            key={group}
            label={label}
            isOn={filter.group === group}
            onPress={() => onChange({ ...filter, group })}
          />
        ))}
      </Chips>
    </View>
  )
}

function EntryRow({ entry, onPress }: { readonly entry: Entry; readonly onPress: () => void }) {
  const { actor, at } = entry
  const who = actor.name || actor.id
  const deed = deedOf(entry)
  const target = targetOf(entry)
  const told = target === '' ? deed : `${deed}, ${target}`
  return (
    <Row
      label={`${who} ${told}, ${deviceOf(entry)}, ${ago(at, serverNow())}`}
      onPress={onPress}
      trailing={
        <Text variant="small" color="textMuted">
          <Ago from={at} />
        </Text>
      }
    >
      <Text variant="heading">{deed.charAt(0).toUpperCase() + deed.slice(1)}</Text>
      {target !== '' && <Text variant="label">{target}</Text>}
      <Text variant="small" color="textMuted">
        {`by ${who}, ${deviceOf(entry)}`}
      </Text>
    </Row>
  )
}

const styles = StyleSheet.create({
  filters: { paddingBottom: space.s },
  list: { paddingBottom: space.xxxl },
})
