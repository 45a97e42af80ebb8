import { useRouter } from 'expo-router'
import { type ReactNode, useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { ActionBar } from '../../components/shell/action-bar.tsx'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { EmptyState } from '../../components/ui/empty-state.tsx'
import { Fact } from '../../components/ui/fact.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { moment, number } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { EnqueueSheet } from '../desk-parts.tsx'
import { clashInWords, policyOf, retriesInWords, timeoutInWords } from './policy.ts'
import { type Topic, topicList } from './queries.ts'
import { SchemaView } from './schema-view.tsx'

/** One topic: the default options of its jobs, and the schema of their payloads. */
export function TopicScreen({ topic }: { readonly topic: string }) {
  const read = useRead(topicList)
  const found = read.data?.find((each) => each.topic === topic)
  return (
    <Page
      title={topic}
      parent="/topics"
      onRefresh={() => void read.refetch()}
      {...(found && { bar: <Actions topic={found} /> })}
    >
      <ReadState read={read}>
        {() =>
          found ? (
            <Content topic={found} />
          ) : (
            <EmptyState icon="topics" title="No such topic" text={`No worker has announced “${topic}”.`} />
          )
        }
      </ReadState>
    </Page>
  )
}

function Content({ topic }: { readonly topic: Topic }) {
  const policy = policyOf(topic)
  const clash = clashInWords(topic)
  return (
    <>
      {clash !== null && <Banner tone="warn" icon="warn" text="Schemas differ" detail={clash} />}
      <View style={styles.content}>
        <View>
          <Fact name="Queue" value={policy.queue} />
          <Fact name="Priority" value={number(policy.priority)} />
          <Fact name="Retries" value={retriesInWords(policy)} />
          <Fact name="Timeout" value={timeoutInWords(policy)} />
          <Fact name="Announced" value={moment(topic.announced)} />
        </View>
        <Part title="Payload">
          <SchemaView schema={topic.input} />
        </Part>
        {topic.output !== null && topic.output !== undefined && (
          <Part title="Result">
            <SchemaView schema={topic.output} />
          </Part>
        )}
      </View>
    </>
  )
}

function Actions({ topic }: { readonly topic: Topic }) {
  const router = useRouter()
  const lock = useLock('enqueue')
  const [isEnqueueing, setEnqueueing] = useState(false)
  return (
    <ActionBar>
      <Button label="Enqueue…" icon="plus" lock={lock} onPress={() => setEnqueueing(true)} />
      <Button
        label="All jobs"
        icon="jobs"
        variant="quiet"
        onPress={() => router.push({ pathname: '/jobs', params: { topic: topic.topic } })}
      />
      {isEnqueueing && <EnqueueSheet topic={topic} onClose={() => setEnqueueing(false)} />}
    </ActionBar>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <View style={styles.part}>
      <Text variant="heading" level={2}>
        {title}
      </Text>
      {children}
    </View>
  )
}

const styles = StyleSheet.create({
  content: { paddingHorizontal: space.l, paddingTop: space.m, gap: space.xl },
  part: { gap: space.m },
})
