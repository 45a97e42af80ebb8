import { Split } from '../../components/shell/split.tsx'
import { FailuresScreen } from '../../features/failures/failures-screen.tsx'

export default function FailuresRoute() {
  return <Split list={<FailuresScreen />} hint="Choose a failure" />
}
