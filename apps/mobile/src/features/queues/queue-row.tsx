import { StyleSheet, View } from 'react-native'
import { IconButton } from '../../components/ui/icon-button.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Sparkline } from '../../components/ui/sparkline.tsx'
import { STATES, StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Age } from '../../components/ui/ticking.tsx'
import { useLock } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import type { Health } from '../../lib/connection-provider.tsx'
import { age, number } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'

export type QueueHealth = Health['queues'][number]

export interface QueueRowProps {
  readonly queue: QueueHealth
  readonly onPress: () => void
  readonly onPause: () => void
  readonly onResume: () => void
  readonly isCurrent?: boolean
}

/** A queue with what somebody on call looks for: how it is, and for how long the oldest waits. */
export function QueueRow({ queue, onPress, onPause, onResume, isCurrent = false }: QueueRowProps) {
  const { colors } = useTheme()
  const lock = useLock()
  const { queue: name, state, oldestWaiting, paused, spark } = queue
  const isBad = STATES[state].tone === 'bad'
  return (
    <View style={[styles.line, { borderBottomColor: colors.line }]}>
      <View style={styles.row}>
        <Row
          label={spokenOf(queue)}
          onPress={onPress}
          isCurrent={isCurrent}
          trailing={
            <View style={styles.trailing}>
              <Text variant="heading" color={isBad ? 'bad' : 'text'}>
                {oldestWaiting ? <Age from={oldestWaiting} /> : '–'}
              </Text>
              <View style={styles.spark}>
                <Sparkline values={spark.completed} height={22} />
              </View>
            </View>
          }
        >
          <Text variant="heading" numberOfLines={1}>
            {name}
          </Text>
          <View style={styles.state}>
            <StateWord state={state} />
            {paused && (
              <Text variant="small" color="textMuted" numberOfLines={1} style={styles.shrink}>
                {paused.by === null ? 'for ' : `by ${paused.by}, `}
                <Age from={paused.at} />
              </Text>
            )}
          </View>
          <Text variant="small" color="textMuted">
            {numbersOf(queue)}
          </Text>
        </Row>
      </View>
      <IconButton
        icon={paused ? 'resume' : 'pause'}
        label={`${paused ? 'Resume' : 'Pause'} ${name}`}
        lock={lock}
        onPress={paused ? onResume : onPause}
      />
    </View>
  )
}

/** "1 204 waiting · 10 of 20 running · 14 failed in 1 h". */
function numbersOf({ waiting, running, capacity, failedLastHour }: QueueHealth): string {
  const parts = [`${number(waiting)} waiting`, `${number(running)} of ${number(capacity)} running`]
  if (failedLastHour > 0) parts.push(`${number(failedLastHour)} failed in 1\u202fh`)
  return parts.join(' · ')
}

function spokenOf(queue: QueueHealth): string {
  const { queue: name, state, oldestWaiting, paused } = queue
  const parts = [`${name}, ${STATES[state].word}`, numbersOf(queue)]
  if (oldestWaiting) parts.push(`oldest waits ${age(oldestWaiting, serverNow())}`)
  if (paused?.by) parts.push(`paused by ${paused.by}`)
  return parts.join(', ')
}

const styles = StyleSheet.create({
  line: { flexDirection: 'row', alignItems: 'center', borderBottomWidth: StyleSheet.hairlineWidth },
  row: { flex: 1, minWidth: 0 },
  state: { flexDirection: 'row', alignItems: 'center', gap: space.s, paddingVertical: 2 },
  shrink: { flexShrink: 1 },
  trailing: { alignItems: 'flex-end', gap: space.xs },
  spark: { width: 64 },
})
