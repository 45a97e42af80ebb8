import { StyleSheet, View } from 'react-native'
import { Badge } from '../../components/ui/badge.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Sparkline } from '../../components/ui/sparkline.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Ago, Until } from '../../components/ui/ticking.tsx'
import { breakable } from '../../lib/breakable.ts'
import { serverNow, useFrozenAt } from '../../lib/clock.ts'
import { ago, atTime, failing } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { useIsLargeText } from '../../theme/use-theme.ts'
import { ALERT_QUEUE } from '../queues/use-pausing.ts'

export interface FailureRowProps {
  readonly group: {
    readonly class: string
    readonly message: string
    readonly topics: readonly string[]
    readonly queues: readonly string[]
    readonly retrying: number
    readonly undoing: number
    readonly retryingIsExact: boolean
    readonly failed: number
    readonly nextTryAt: Date | null
    readonly firstSeen?: Date
    readonly lastSeen: Date
    readonly isNew: boolean
    readonly trend?: readonly number[]
  }
  readonly onPress: () => void
  readonly isCurrent?: boolean
  /** All of its jobs were retried or removed meanwhile. */
  readonly isGone?: boolean
  /** Null: not in select mode. */
  readonly isSelected?: boolean | null
  readonly onLongPress?: () => void
}

/** What fails, how often, since when. */
export function FailureRow(props: FailureRowProps) {
  const { group, onPress, onLongPress, isCurrent = false, isGone = false, isSelected = null } = props
  const { message, topics, queues, firstSeen, lastSeen, isNew, trend, nextTryAt } = group
  const isLarge = useIsLargeText()
  const frozenAt = useFrozenAt()
  const last = frozenAt === null ? ago(lastSeen, serverNow()) : atTime(lastSeen, frozenAt)
  // Not a job of the user's: Oncue could not send an alert.
  const isOwn = queues.length > 0 && queues.every((queue) => queue === ALERT_QUEUE)
  const place = isOwn ? 'Oncue’s own' : [...topics, ...queues.map((queue) => `in ${queue}`)].join(', ')
  const label = `${group.class}: ${message}. ${isGone ? 'None left' : failing(group)}, ${isOwn ? 'Alert delivery, ' : ''}${place}, last seen ${last}${isNew ? ', new' : ''}`
  return (
    <Row
      label={label}
      onPress={onPress}
      isCurrent={isCurrent}
      isSelected={isSelected}
      {...(onLongPress && { onLongPress })}
      trailing={
        <View style={styles.count}>
          {isGone ? (
            <Text variant="small" color="textMuted">
              none left
            </Text>
          ) : (
            trend && (
              <View style={styles.spark}>
                <Sparkline values={trend} height={22} isBad />
              </View>
            )
          )}
        </View>
      }
    >
      <View style={styles.name}>
        <Text variant="heading" style={styles.shrink} color={isGone ? 'textMuted' : 'text'}>
          {breakable(group.class)}
        </Text>
        {isNew && <Badge label="new" tone="warn" />}
        {isOwn && <Badge label="Alert delivery" tone="neutral" />}
      </View>
      <Text variant="label" numberOfLines={isLarge ? 6 : 1} color={isGone ? 'textMuted' : 'text'}>
        {message}
      </Text>
      {!isGone && (
        <Text variant="label" color="bad">
          {failing(group)}
          {nextTryAt && (
            <>
              {' · next try '}
              <Until to={nextTryAt} />
            </>
          )}
        </Text>
      )}
      <Text variant="small" color="textMuted">
        {place}
      </Text>
      <Text variant="small" color="textMuted">
        last seen <Ago from={lastSeen} />
        {firstSeen && (
          <>
            , first <Ago from={firstSeen} />
          </>
        )}
      </Text>
    </Row>
  )
}

const styles = StyleSheet.create({
  name: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', columnGap: space.s },
  shrink: { flexShrink: 1, minWidth: 0, maxWidth: '100%' },
  count: { alignItems: 'flex-end', gap: 2 },
  spark: { width: 72 },
})
