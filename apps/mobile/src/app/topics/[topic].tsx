import { useLocalSearchParams } from 'expo-router'
import { Split } from '../../components/shell/split.tsx'
import { TopicScreen, TopicsScreen } from '../../features/rare-screens.tsx'

export default function TopicRoute() {
  const { topic } = useLocalSearchParams<{ topic: string }>()
  return (
    <Split list={<TopicsScreen openId={topic} />} hint="">
      <TopicScreen key={topic} topic={topic} />
    </Split>
  )
}
