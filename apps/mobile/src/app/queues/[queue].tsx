import { useLocalSearchParams } from 'expo-router'
import { Split } from '../../components/shell/split.tsx'
import { QueueScreen } from '../../features/queues/queue-screen.tsx'
import { QueuesScreen } from '../../features/queues/queues-screen.tsx'

export default function QueueRoute() {
  const { queue } = useLocalSearchParams<{ queue: string }>()
  return (
    <Split list={<QueuesScreen openId={queue} />} hint="">
      <QueueScreen key={queue} queue={queue} />
    </Split>
  )
}
