import { StyleSheet, View } from 'react-native'
import { Button } from '../../components/ui/button.tsx'
import { Row } from '../../components/ui/row.tsx'
import { STATES, StateWord } from '../../components/ui/state-word.tsx'
import { Swipe } from '../../components/ui/swipe.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Age } from '../../components/ui/ticking.tsx'
import { serverNow } from '../../lib/clock.ts'
import { ago, duration, moment, timeOfDay, timeOrDay, unbroken } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import type { Alert } from './queries.ts'

export interface AlertRowProps {
  readonly alert: Alert
  readonly isCurrent: boolean
  readonly onPress: () => void
  /** Select mode: null where there is none. */
  readonly isSelected?: boolean | null
  /** Called by its button, or by swiping the row to the left. Null: not possible now. */
  readonly onAck?: (() => void) | null
  readonly lock?: string | null
}

/** What fires, since when, and who acknowledged it. */
export function AlertRow(props: AlertRowProps) {
  const { alert, isCurrent, onAck = null, lock = null } = props
  const { colors } = useTheme()
  if (onAck === null) return <Words {...props} />
  return (
    <Swipe onSwipe={lock === null ? onAck : null}>
      <View style={styles.acked}>
        <View style={styles.words}>
          <Words {...props} />
        </View>
        <View
          style={[
            styles.button,
            { borderBottomColor: colors.line },
            isCurrent && { backgroundColor: colors.surfacePressed },
          ]}
        >
          <Button
            label="Ack"
            icon="acked"
            lock={lock}
            hint={`Acknowledges ${alert.summary}`}
            onPress={onAck}
          />
        </View>
      </View>
    </Swipe>
  )
}

function Words({ alert, isCurrent, onPress, isSelected = null }: AlertRowProps) {
  const { state, summary, firedAt } = alert
  const told = `${STATES[state].word}: ${summary}, since ${ago(firedAt, serverNow())}`
  return (
    <Row label={told} isCurrent={isCurrent} isSelected={isSelected} onPress={onPress}>
      <View style={styles.head}>
        <StateWord state={state} />
        <Since alert={alert} />
      </View>
      <Text variant="heading" color={state === 'firing' ? 'text' : 'textMuted'}>
        {unbroken(summary)}
      </Text>
      <Who alert={alert} />
    </Row>
  )
}

function Since({ alert: { firedAt, resolvedAt } }: { readonly alert: Alert }) {
  const lasted = resolvedAt && duration(resolvedAt.getTime() - firedAt.getTime())
  return (
    <Text variant="small" color="textMuted">
      {lasted === null ? 'for ' : `${moment(firedAt)}, lasted ${lasted}`}
      {lasted === null && <Age from={firedAt} />}
    </Text>
  )
}

function Who({ alert: { acked, snoozed } }: { readonly alert: Alert }) {
  const words = acked
    ? `by ${acked.by} at ${timeOfDay(acked.at)}`
    : snoozed && `by ${snoozed.by} until ${timeOrDay(snoozed.until, serverNow())}`
  if (!words) return null
  return (
    <Text variant="small" color="textMuted">
      {words}
    </Text>
  )
}

const styles = StyleSheet.create({
  acked: { flexDirection: 'row', alignItems: 'center' },
  words: { flex: 1, minWidth: 0 },
  // The line below the row goes on below its button.
  button: {
    alignSelf: 'stretch',
    justifyContent: 'center',
    paddingRight: space.l,
    borderBottomWidth: StyleSheet.hairlineWidth,
  },
  head: {
    flexDirection: 'row',
    flexWrap: 'wrap',
    alignItems: 'center',
    gap: space.s,
    paddingBottom: 2,
  },
})
