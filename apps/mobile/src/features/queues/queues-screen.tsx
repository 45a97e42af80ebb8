import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Chip, Chips } from '../../components/ui/chip.tsx'
import { number } from '../../lib/format.ts'
import { useCursor } from '../../lib/use-cursor.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useOpen } from '../../lib/use-open.ts'
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
  const current = useCursor(queues.map(nameOf), { onOpen: open })
  const refresh = () => {
    show()
    void read.refetch()
  }

  return (
    <Page title="Queues" isAside={openId !== undefined} onRefresh={refresh}>
      {waiting > 0 && (
        <Chips>
          <Chip label={`${number(waiting)} new – tap to show`} icon="refresh" isOn onPress={show} />
        </Chips>
      )}
      <ReadState
        read={read}
        isEmpty={() => queues.length === 0}
        empty={{
          title: 'No queues yet',
          text: 'A queue is here once a job waits in it or a worker serves it.',
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
    </Page>
  )
}

const nameOf = ({ queue }: QueueHealth) => queue
