import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Badge } from '../../components/ui/badge.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { useOpen } from '../../lib/use-open.ts'
import { policyOf, retriesInWords, timeoutInWords } from './policy.ts'
import { type Topic, topicList } from './queries.ts'

/** Every topic that a worker announced, and the default options of its jobs. */
export function TopicsScreen({ openId }: { readonly openId?: string }) {
  const read = useRead(topicList)
  const open = useOpen('topic')
  return (
    <Page
      title="Topics"
      parent="/settings"
      isAside={openId !== undefined}
      onRefresh={() => void read.refetch()}
    >
      <ReadState
        read={read}
        isEmpty={(topics) => topics.length === 0}
        empty={{
          icon: 'topics',
          title: 'No topics',
          text: 'Workers announce their topics when they start.',
        }}
      >
        {(topics) =>
          topics.map((topic) => (
            <TopicRow
              key={topic.topic}
              topic={topic}
              isCurrent={topic.topic === openId}
              onPress={() => open(topic.topic)}
            />
          ))
        }
      </ReadState>
    </Page>
  )
}

interface TopicRowProps {
  readonly topic: Topic
  readonly isCurrent: boolean
  readonly onPress: () => void
}

function TopicRow({ topic, isCurrent, onPress }: TopicRowProps) {
  const policy = policyOf(topic)
  const words = `queue ${policy.queue} · ${retriesInWords(policy)} · timeout ${timeoutInWords(policy)}`
  return (
    <Row
      label={`${topic.topic}, ${words.replaceAll(' · ', ', ')}${topic.clash ? ', schemas differ' : ''}`}
      isCurrent={isCurrent}
      onPress={onPress}
      trailing={topic.clash && <Badge label="schemas differ" tone="warn" />}
    >
      <Text variant="heading">{topic.topic}</Text>
      <Text variant="small" color="textMuted">
        {words}
      </Text>
    </Row>
  )
}
