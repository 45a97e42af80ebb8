import { Split } from '../../components/shell/split.tsx'
import { TopicsScreen } from '../../features/topics/topics-screen.tsx'

export default function TopicsRoute() {
  return <Split list={<TopicsScreen />} hint="Choose a topic" />
}
