import { useFocusEffect } from 'expo-router'
import { useCallback, useRef } from 'react'
import { StyleSheet } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Chip, Chips } from '../../components/ui/chip.tsx'
import { STATES } from '../../components/ui/state-word.tsx'
import { Text } from '../../components/ui/text.tsx'
import { count, number } from '../../lib/format.ts'
import { useCursor } from '../../lib/use-cursor.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useOpen } from '../../lib/use-open.ts'
import { space } from '../../theme/tokens.ts'
import { useSteady } from '../failures/steady.ts'
import { type QueueHealth, QueueRow } from './queue-row.tsx'
import { usePausing } from './use-pausing.ts'

/** Every queue, trouble first. */
export function QueuesScreen({ openId }: { readonly openId?: string }) {
  const read = useHealth()
  const { rows, waiting, show } = useSteady(read.data?.queues, nameOf, '')
  const queues = rows.filter(({ isGone }) => !isGone).map(({ item }) => item)
  const open = useOpen('queue')
  const { pause, resume } = usePausing()
  const current = useCursor(queues.map(nameOf), { onOpen: open, openId })
  useOnReturn(show)
  const others = read.data?.others.queues ?? 0
  const hint = waiting > 0 ? `${number(waiting)} new – tap to show` : 'Problems below – tap to sort'
  const refresh = () => {
    show()
    void read.refetch()
  }

  return (
    <Page title="Queues" isAside={openId !== undefined} onRefresh={refresh}>
      {(waiting > 0 || isOutOfOrder(queues)) && (
        <Chips>
          <Chip label={hint} icon="refresh" isOn onPress={show} />
        </Chips>
      )}
      <ReadState
        read={read}
        isEmpty={() => queues.length === 0}
        empty={{
          title: 'No queues yet',
          text: 'A queue appears with its first job, or once it is paused or limited. A worker alone does not create one.',
          icon: 'queues',
        }}
      >
        {() =>
          queues.map((queue) => (
            <QueueRow
              key={queue.queue}
              queue={queue}
              isCurrent={queue.queue === (current ?? openId)}
              onPress={() => open(queue.queue)}
              onPause={() => void pause(queue.queue)}
              onResume={() => void resume(queue.queue)}
            />
          ))
        }
      </ReadState>
      {others > 0 && (
        <Text color="textMuted" center style={styles.others}>
          {`${count(others, 'other queue')} with fewer problems`}
        </Text>
      )}
    </Page>
  )
}

const nameOf = ({ queue }: QueueHealth) => queue

/** Rows stay in place while the list is open, even when a queue turns bad; a chip offers to sort them. */
function isOutOfOrder(queues: readonly QueueHealth[]): boolean {
  const isBad = queues.map(({ state }) => STATES[state].tone === 'bad')
  return isBad.some((bad, index) => bad && isBad[index - 1] === false)
}

/** On return to the screen, the worst queue is on top again. */
function useOnReturn(act: () => void): void {
  const latest = useRef(act)
  latest.current = act
  useFocusEffect(useCallback(() => latest.current(), []))
}

const styles = StyleSheet.create({ others: { padding: space.l } })
