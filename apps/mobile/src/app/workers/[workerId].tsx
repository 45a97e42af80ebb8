import { useLocalSearchParams } from 'expo-router'
import { Split } from '../../components/shell/split.tsx'
import { WorkerScreen, WorkersScreen } from '../../features/rare-screens.tsx'

export default function WorkerRoute() {
  const { workerId } = useLocalSearchParams<{ workerId: string }>()
  return (
    <Split list={<WorkersScreen openId={workerId} />} hint="">
      <WorkerScreen key={workerId} workerId={workerId} />
    </Split>
  )
}
