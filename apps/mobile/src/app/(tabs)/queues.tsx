import { Split } from '../../components/shell/split.tsx'
import { QueuesScreen } from '../../features/queues/queues-screen.tsx'

export default function QueuesRoute() {
  return <Split list={<QueuesScreen />} hint="Choose a queue" />
}
