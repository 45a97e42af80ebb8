import { StyleSheet, View } from 'react-native'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Row } from '../../components/ui/row.tsx'
import { SkeletonRows } from '../../components/ui/skeleton.tsx'
import { StateWord } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { Ago } from '../../components/ui/ticking.tsx'
import { useRead } from '../../lib/api.tsx'
import { number } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import { space } from '../../theme/tokens.ts'
import { workers } from './queries.ts'

/** The workers that serve a queue. */
export function QueueWorkers({ queue }: { readonly queue: string }) {
  const read = useRead(workers)
  const open = useOpen('workerId')
  return (
    <ReadState read={read} skeleton={<SkeletonRows count={2} />}>
      {(all) => {
        const own = all.filter(({ queues }) => queues.includes(queue))
        if (own.length === 0)
          return (
            <Text color="textMuted" style={styles.none}>
              No worker serves this queue: its jobs wait.
            </Text>
          )
        return own.map(({ id, host, pid, running, concurrency, lastBeat, missingSince }) => (
          <Row
            key={id}
            label={`Worker ${host}, process ${pid}, ${missingSince ? 'missing' : 'alive'}, runs ${running} of ${concurrency}`}
            onPress={() => open(id)}
            trailing={<StateWord state={missingSince ? 'missing' : 'alive'} />}
          >
            <Text variant="label">
              {host} <Text variant="code">{pid}</Text>
            </Text>
            <View>
              <Text variant="small" color="textMuted">
                {number(running)} of {number(concurrency)} slots busy · seen <Ago from={lastBeat} />
              </Text>
            </View>
          </Row>
        ))
      }}
    </ReadState>
  )
}

const styles = StyleSheet.create({ none: { paddingHorizontal: space.l, paddingVertical: space.s } })
