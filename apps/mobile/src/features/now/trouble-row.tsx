import { StyleSheet, View } from 'react-native'
import { Row } from '../../components/ui/row.tsx'
import { Sparkline } from '../../components/ui/sparkline.tsx'
import { STATES, StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Age } from '../../components/ui/ticking.tsx'
import { serverNow, useFrozenAt } from '../../lib/clock.ts'
import type { Health } from '../../lib/connection-provider.tsx'
import { age, count, percent } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import { space } from '../../theme/tokens.ts'

type QueueHealth = Health['queues'][number]

/** Worst first, as the server orders them. A paused queue breaks no rule, but must not be forgotten. */
export function troubledOf(queues: readonly QueueHealth[]): readonly QueueHealth[] {
  return queues.filter(({ state }) => state !== 'ok' && state !== 'idle')
}

/** A queue that breaks a rule, and which. */
export function TroubleRow({ queue }: { readonly queue: QueueHealth }) {
  const open = useOpen('queue')
  const { oldestWaiting, waiting, state, failureRate, paused, spark } = queue
  const now = useFrozenAt() ?? serverNow()
  const since = oldestWaiting && `, oldest waits ${age(oldestWaiting, now)}`
  return (
    <Row
      label={`${queue.queue}: ${STATES[state].word}, ${count(waiting, 'job')} waiting${since ?? ''}`}
      onPress={() => open(queue.queue)}
      trailing={
        <View style={styles.spark}>
          <Sparkline
            values={state === 'failing' ? spark.failureRate : spark.waiting}
            height={28}
            isBad={state !== 'paused'}
          />
        </View>
      }
    >
      <View style={styles.name}>
        <Text variant="heading" style={styles.shrink}>
          {queue.queue}
        </Text>
        <StateWord state={state} />
      </View>
      <Text variant="label" color="textMuted">
        {state === 'failing' && failureRate !== null && `${percent(failureRate)} fail · `}
        {paused && (
          <>
            {paused.by === null ? 'paused' : `paused by ${paused.by}`}, <Age from={paused.at} />
            {' · '}
          </>
        )}
        {oldestWaiting && (
          <>
            oldest <Age from={oldestWaiting} />
            {' · '}
          </>
        )}
        {count(waiting, 'waiting', 'waiting')}
      </Text>
    </Row>
  )
}

const styles = StyleSheet.create({
  name: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', gap: space.s },
  shrink: { flexShrink: 1, minWidth: 0, maxWidth: '100%' },
  spark: { width: 72 },
})
