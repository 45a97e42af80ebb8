import { ScrollView, StyleSheet, View } from 'react-native'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Button } from '../../components/ui/button.tsx'
import { IconButton } from '../../components/ui/icon-button.tsx'
import { Text } from '../../components/ui/text.tsx'
import { moment, number, shortId } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import { JobState, waitOf } from './job-row.tsx'
import type { JobDetails } from './job-stream.ts'
import { attemptsOf } from './queries.ts'
import { JsonSection } from './section.tsx'
import { useJob } from './use-job.ts'

export interface JobPreviewProps {
  readonly jobId: string
  readonly onOpen: (id: string) => void
  readonly onClose: () => void
}

/** A job beside the table: its error, its payload and its meta, without leaving the list. */
export function JobPreview({ jobId, onOpen, onClose }: JobPreviewProps) {
  const { colors } = useTheme()
  const read = useJob(jobId)
  return (
    <View
      role="complementary"
      aria-label={`Preview of ${shortId(jobId)}`}
      style={[styles.pane, { borderLeftColor: colors.line, backgroundColor: colors.surfaceRaised }]}
    >
      <View style={styles.head}>
        <Text variant="title" level={2} style={styles.title} numberOfLines={1}>
          {read.data?.topic ?? 'Job'}
        </Text>
        {read.data && <JobState job={read.data} />}
        <IconButton icon="close" label="Close the preview" onPress={onClose} />
      </View>
      <ScrollView style={styles.body} contentContainerStyle={styles.content}>
        <ReadState read={read}>{(job) => <Content job={job} />}</ReadState>
      </ScrollView>
      <View style={[styles.foot, { borderTopColor: colors.line }]}>
        <Button label="Open job" icon="open" onPress={() => onOpen(jobId)} />
      </View>
    </View>
  )
}

function Content({ job }: { readonly job: JobDetails }) {
  const { id, queue, created, maxRetries, lastError, status, payload, meta, masked } = job
  const wait = waitOf(job)
  return (
    <>
      {lastError && status !== 'completed' && (
        <View style={styles.error}>
          <Text variant="label" color="bad" selectable>
            {lastError.class}
          </Text>
          <Text variant="small" selectable>
            {lastError.message}
          </Text>
        </View>
      )}
      {wait !== null && <Text variant="label">{wait}</Text>}
      <View style={styles.facts}>
        <Small name="Id" value={id} />
        <Small name="Queue" value={queue} />
        <Small name="Created" value={moment(created)} />
        <Small name="Runs" value={`${number(attemptsOf(job))} of ${number(maxRetries + 1)}`} />
      </View>
      <JsonSection title="Payload" value={payload} masked={masked} root="payload" />
      {meta !== null && <JsonSection title="Meta" value={meta} masked={masked} root="meta" />}
    </>
  )
}

function Small({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <View style={styles.fact}>
      <Text variant="small" color="textMuted" style={styles.name}>
        {name}
      </Text>
      <Text variant="small" selectable style={styles.value}>
        {value}
      </Text>
    </View>
  )
}

const styles = StyleSheet.create({
  pane: { flex: 1, borderLeftWidth: StyleSheet.hairlineWidth },
  head: {
    flexDirection: 'row',
    alignItems: 'center',
    gap: space.s,
    paddingLeft: space.l,
    paddingRight: space.xs,
    minHeight: 56,
  },
  title: { flex: 1, minWidth: 0 },
  body: { flex: 1 },
  content: { paddingHorizontal: space.l, paddingBottom: space.xl, gap: space.l },
  error: { gap: 2 },
  facts: { gap: space.xs },
  fact: { flexDirection: 'row', gap: space.m },
  name: { width: 72 },
  value: { flex: 1, minWidth: 0 },
  foot: { padding: space.m, borderTopWidth: StyleSheet.hairlineWidth },
})
