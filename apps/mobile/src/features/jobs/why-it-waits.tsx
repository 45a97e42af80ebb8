import { StyleSheet } from 'react-native'
import { Pressable } from '../../components/ui/pressable.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { shortId } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import { explanation } from './queries.ts'
import { Card, Section } from './section.tsx'
import type { JobDetails } from './timeline.ts'

/** What keeps a waiting job from running now, and the jobs that it waits for. */
export function WhyItWaits({ job: { id, status } }: { readonly job: JobDetails }) {
  const openJob = useOpen('jobId')
  const isWaiting = status === 'pending' || status === 'blocked'
  const { data } = useRead(explanation(id, isWaiting))
  if (!isWaiting || !data || data.reasons.length === 0) return null
  return (
    <Section title="Why is it waiting?">
      <Card>
        {data.reasons.map(({ kind, text }) => (
          <Text key={`${kind} ${text}`}>{text}</Text>
        ))}
        {data.waitsFor.map((parent) => (
          <Pressable
            key={parent.id}
            role="link"
            aria-label={`Job ${parent.id}`}
            onPress={() => openJob(parent.id)}
            style={styles.link}
          >
            <Text variant="label" color="accent">
              {parent.topic} · {shortId(parent.id)} · {parent.status}
            </Text>
          </Pressable>
        ))}
      </Card>
    </Section>
  )
}

const styles = StyleSheet.create({ link: { justifyContent: 'center', borderRadius: 6, minHeight: 32 } })
