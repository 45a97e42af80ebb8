import { Split } from '../../components/shell/split.tsx'
import { WorkersScreen } from '../../features/rare-screens.tsx'

export default function WorkersRoute() {
  return <Split list={<WorkersScreen />} hint="Choose a worker" />
}
