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

/** A queue with what the person on call looks for: its state, and how long the oldest job has waited. */
export function QueueRow({ queue, onPress, onPause, onResume, isCurrent = false }: QueueRowProps) {
  const { colors } = useTheme()
  const lock = useLock()
  const { queue: name, state, oldestWaiting, paused, spark } = queue
  const isLate = oldestWaiting !== null && (state === 'late' || state === 'stalled')
  return (
    <View style={styles.line}>
      <View style={styles.row}>
        <Row
          label={spokenOf(queue)}
          onPress={onPress}
          isCurrent={isCurrent}
          trailing={
            <View style={styles.trailing}>
              <Text variant="heading" color={isLate ? 'bad' : oldestWaiting ? 'text' : 'textMuted'}>
                {oldestWaiting ? <Age from={oldestWaiting} /> : '–'}
              </Text>
              <View style={styles.spark}>
                <Sparkline values={spark.waiting} height={22} />
              </View>
            </View>
          }
        >
          <Text variant="heading">{name}</Text>
          <View style={styles.state}>
            <StateWord state={state} />
            {paused && (
              <Text variant="small" color="textMuted" style={styles.shrink}>
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
      <View
        style={[
          styles.action,
          { borderBottomColor: colors.line },
          isCurrent && { backgroundColor: colors.surfacePressed },
        ]}
      >
        <IconButton
          icon={paused ? 'resume' : 'pause'}
          label={`${paused ? 'Resume' : 'Pause'} ${name}`}
          lock={lock}
          onPress={paused ? onResume : onPause}
        />
      </View>
    </View>
  )
}

/** "1,204 waiting · 10/20 running · 3 suspended · 14 gave up in 1 h". */
function numbersOf({ waiting, running, suspended, capacity, failedLastHour }: QueueHealth): string {
  const parts = [
    `${number(waiting)} waiting`,
    capacity === 0 && running === 0 ? 'no worker' : `${number(running)}/${number(capacity)} running`,
    ...(suspended > 0 ? [`${number(suspended)} suspended`] : []),
    ...(failedLastHour > 0 ? [`${number(failedLastHour)} gave up in 1 h`] : []),
  ]
  return parts.map((part) => part.replaceAll(' ', '\u00a0')).join(' · ')
}

function spokenOf(queue: QueueHealth): string {
  const { queue: name, state, oldestWaiting, paused } = queue
  const parts = [`${name}, ${STATES[state].word}`, numbersOf(queue)]
  if (oldestWaiting) parts.push(`oldest waits ${age(oldestWaiting, serverNow())}`)
  if (paused?.by) parts.push(`paused by ${paused.by}`)
  return parts.join(', ')
}

const styles = StyleSheet.create({
  line: { flexDirection: 'row' },
  /** Beside the row, not within: a link cannot have a button inside. */
  action: { justifyContent: 'center', paddingRight: space.xs, borderBottomWidth: StyleSheet.hairlineWidth },
  row: { flex: 1, minWidth: 0 },
  state: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    columnGap: space.s,
    paddingVertical: 2,
  },
  shrink: { flexShrink: 1, minWidth: 0, maxWidth: '100%' },
  trailing: { alignItems: 'flex-end', gap: space.xs },
  spark: { width: 64 },
})
