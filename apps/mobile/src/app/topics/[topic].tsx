import { useLocalSearchParams } from 'expo-router'
import { Split } from '../../components/shell/split.tsx'
import { TopicScreen } from '../../features/topics/topic-screen.tsx'
import { TopicsScreen } from '../../features/topics/topics-screen.tsx'

export default function TopicRoute() {
  const { topic } = useLocalSearchParams<{ topic: string }>()
  return (
    <Split list={<TopicsScreen openId={topic} />} hint="">
      <TopicScreen key={topic} topic={topic} />
    </Split>
  )
}
