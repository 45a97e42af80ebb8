import { useRouter } from 'expo-router'
import { StyleSheet, View } from 'react-native'
import { CopyButton } from '../../components/ui/copy-button.tsx'
import { Pressable } from '../../components/ui/pressable.tsx'
import { Text } from '../../components/ui/text.tsx'
import { serverNow } from '../../lib/clock.ts'
import { count, duration, moment, number } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import { space } from '../../theme/tokens.ts'
import type { JobDetails } from './job-stream.ts'
import { attemptsOf } from './queries.ts'
import { Card, Section } from './section.tsx'
import { openWaits } from './waits.ts'

/** How it was enqueued, and what it belongs to. */
export function JobFacts({ job }: { readonly job: JobDetails }) {
  const router = useRouter()
  const openJob = useOpen('jobId')
  const { id, parentId, queue } = job
  return (
    <Section title="Options">
      <Card>
        <View style={styles.fact}>
          <Text variant="small" color="textMuted" style={styles.name}>
            Id
          </Text>
          <Text variant="code" selectable style={styles.value}>
            {id}
          </Text>
          <CopyButton label="Copy the id" text={id} />
        </View>
        <Link
          name="Queue"
          value={queue}
          onPress={() => router.push({ pathname: '/queues/[queue]', params: { queue } })}
        />
        {parentId !== null && <Link name="Parent" value={parentId} onPress={() => openJob(parentId)} />}
        {factsOf(job).map(([name, value]) => (
          <View key={name} style={styles.fact}>
            <Text variant="small" color="textMuted" style={styles.name}>
              {name}
            </Text>
            <Text variant="label" selectable style={styles.value}>
              {value}
            </Text>
          </View>
        ))}
      </Card>
    </Section>
  )
}

function Link({
  name,
  value,
  onPress,
}: {
  readonly name: string
  readonly value: string
  readonly onPress: () => void
}) {
  return (
    <View style={styles.fact}>
      <Text variant="small" color="textMuted" style={styles.name}>
        {name}
      </Text>
      <Pressable role="link" aria-label={`${name} ${value}`} onPress={onPress} style={styles.link}>
        <Text variant="label" color="accent">
          {value}
        </Text>
      </Pressable>
    </View>
  )
}

/** Only options that the caller gave, or that differ from the default. */
function factsOf(job: JobDetails): readonly (readonly [name: string, value: string])[] {
  const { maxRetries, crashes, priority, timeoutMs, retry, runAt, created, depsLeft } = job
  const facts: (readonly [string, string] | false)[] = [
    [
      'Runs',
      `${number(attemptsOf(job))} of ${number(maxRetries + 1)}${retry ? `, back-off ${retry.strategy.replace('_', ' with ')}` : ''}`,
    ],
    crashes > 0 && ['Crashes', number(crashes)],
    ['Priority', number(priority)],
    ['Timeout', duration(timeoutMs)],
    // A suspended job says itself until when.
    runAt.getTime() > created.getTime() && !openWaits(job, serverNow()) && ['Due', moment(runAt)],
    depsLeft > 0 && ['Waits for', count(depsLeft, 'other job')],
    job.uniqueKey !== null && ['Unique key', job.uniqueKey],
    job.concurrencyKey !== null && [
      'Concurrency key',
      `${job.concurrencyKey}${job.concurrencyLimit === null ? '' : `, at most ${number(job.concurrencyLimit)} at once`}`,
    ],
    job.trace !== null && ['Trace', job.trace],
  ]
  return facts.filter((fact) => fact !== false)
}

const styles = StyleSheet.create({
  fact: { flexDirection: 'row', alignItems: 'center', gap: space.m, minHeight: 32 },
  name: { width: 104 },
  value: { flex: 1 },
  link: { flex: 1, minWidth: 0, justifyContent: 'center', borderRadius: 6 },
})
