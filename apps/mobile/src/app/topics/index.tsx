import { Split } from '../../components/shell/split.tsx'
import { TopicsScreen } from '../../features/rare-screens.tsx'

export default function TopicsRoute() {
  return <Split list={<TopicsScreen />} hint="Choose a topic" />
}
