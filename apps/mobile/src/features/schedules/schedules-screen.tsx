import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Row } from '../../components/ui/row.tsx'
import { StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Ago, Until } from '../../components/ui/ticking.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { ago, until } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { cronInWords } from './cron-words.ts'
import { runsInWords, thenInWords } from './next-words.ts'
import { type Schedule, scheduleList } from './queries.ts'
import { ScheduleFormSheet } from './schedule-form-sheet.tsx'
import { ScheduleSheet } from './schedule-sheet.tsx'

/** All schedules: the next run, the last one, and which are paused. */
export function SchedulesScreen() {
  const read = useRead(scheduleList)
  const [openName, setOpenName] = useState<string | null>(null)
  const [isEditing, setEditing] = useState(false)
  const lock = useLock()
  const opened = read.data?.find(({ name }) => name === openName)
  const names = read.data?.map(({ name }) => name) ?? []
  return (
    <Page
      title="Schedules"
      parent="/settings"
      actions={
        <Button
          label="New schedule"
          icon="plus"
          lock={lock}
          onPress={() => {
            setOpenName(null)
            setEditing(true)
          }}
        />
      }
      onRefresh={() => void read.refetch()}
    >
      <ReadState
        read={read}
        isEmpty={(schedules) => schedules.length === 0}
        empty={{
          icon: 'schedules',
          title: 'No schedules',
          text: 'Schedules are declared in code, or created here.',
        }}
      >
        {(schedules) =>
          schedules.map((schedule) => (
            <ScheduleRow key={schedule.name} schedule={schedule} onPress={() => setOpenName(schedule.name)} />
          ))
        }
      </ReadState>
      {opened && !isEditing && (
        <ScheduleSheet schedule={opened} onClose={() => setOpenName(null)} onEdit={() => setEditing(true)} />
      )}
      {isEditing && (
        <ScheduleFormSheet
          schedule={opened ?? null}
          taken={names.filter((name) => name !== opened?.name)}
          onClose={() => setEditing(false)}
          onSaved={(name) => {
            setEditing(false)
            setOpenName(name)
          }}
        />
      )}
    </Page>
  )
}

function ScheduleRow({ schedule, onPress }: { readonly schedule: Schedule; readonly onPress: () => void }) {
  const { name, cron, timezone, topic, nextAt, nextRuns, lastAt, paused } = schedule
  const when = `${cronInWords(cron) ?? cron} (${timezone})`
  const now = serverNow()
  const next = nextAt ? `next ${until(nextAt, now)}, ${thenInWords(nextRuns)}` : 'no next run'
  const last = lastAt ? `last ${ago(lastAt, now)}` : 'never ran'
  return (
    <Row
      label={`${name}, ${when}, ${paused ? 'paused' : next}, ${last}`}
      onPress={onPress}
      trailing={
        <View style={styles.next}>
          {paused ? (
            <StateWord state="paused" />
          ) : (
            nextAt && (
              <Text variant="heading">
                <Until to={nextAt} />
              </Text>
            )
          )}
        </View>
      }
    >
      <Text variant="heading">{name}</Text>
      <Text variant="label" color="textMuted">
        {when}
      </Text>
      {!paused && nextRuns.length > 0 && (
        <Text variant="small" color="textMuted">
          {`next ${runsInWords(nextRuns, now)}`}
        </Text>
      )}
      <Text variant="small" color="textMuted">
        {topic === name ? '' : `${topic} · `}
        {lastAt ? 'last ' : 'never ran'}
        {lastAt && <Ago from={lastAt} />}
        {paused && `, paused ${paused.by ? `by ${paused.by} ` : ''}`}
        {paused && <Ago from={paused.at} />}
      </Text>
    </Row>
  )
}

const styles = StyleSheet.create({ next: { alignItems: 'flex-end', paddingLeft: space.s } })
