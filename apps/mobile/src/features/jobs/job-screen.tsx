import { isFinished } from '@oncue/sdk'
import { useRouter } from 'expo-router'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { JsonTree } from '../../components/ui/json-tree.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { Text } from '../../components/ui/text.tsx'
import { percent } from '../../lib/format.ts'
import { useOpen } from '../../lib/use-open.ts'
import { space } from '../../theme/tokens.ts'
import { ProgressBar } from '../bulk-operations/progress-bar.tsx'
import { ErrorView } from '../failures/error-view.tsx'
import { JobFamily, JobTimeline } from '../rare-screens.tsx'
import { changeInWords, JobActions } from './job-actions.tsx'
import { JobFacts } from './job-facts.tsx'
import { JobLog } from './job-log.tsx'
import { JobState } from './job-row.tsx'
import { type JobDetails, logOf, shareOf } from './job-stream.ts'
import { OpenQuestions } from './open-questions.tsx'
import { JsonSection, Section } from './section.tsx'
import { useJob } from './use-job.ts'
import { WhyItWaits } from './why-it-waits.tsx'

/** One job: its error, timeline, payload and the rest. */
export function JobScreen({ jobId }: { readonly jobId: string }) {
  const read = useJob(jobId)
  const router = useRouter()
  const job = read.data
  const leave = () => (router.canGoBack() ? router.back() : router.dismissTo('/jobs'))
  return (
    <Page
      title={job?.topic ?? 'Job'}
      parent="/jobs"
      onRefresh={() => void read.refetch()}
      {...(job && {
        badge: <JobState job={job} />,
        bar: <JobActions job={job} onDeleted={leave} />,
      })}
    >
      <ReadState read={read} skeleton={<Loading />}>
        {(found) => <Content job={found} />}
      </ReadState>
    </Page>
  )
}

function Content({ job }: { readonly job: JobDetails }) {
  // The status when the page was opened.
  const [seen] = useState(job.status)
  const change = isFinished(seen) ? changeInWords(seen, job.status) : undefined
  const log = logOf(job.events)
  const openGroup = useOpen('fingerprint')
  const { masked, lastError, payload, result, meta, cursor, progress, status } = job
  return (
    <>
      {change !== undefined && <Banner tone="accent" icon="refresh" text={change} />}
      <View style={styles.content}>
        {lastError && status !== 'completed' && (
          <Section
            title={status === 'failed' ? 'Error' : 'Last error'}
            action={
              <Button
                label="All like this"
                variant="quiet"
                onPress={() => openGroup(lastError.fingerprint)}
              />
            }
          >
            <ErrorView error={lastError} />
          </Section>
        )}
        <OpenQuestions job={job} />
        <WhyItWaits job={job} />
        {progress !== null && progress !== undefined && <Progress job={job} />}
        <JobTimeline job={job} />
        <JobFamily id={job.id} />
        {log.length > 0 && <JobLog lines={log} />}
        <JsonSection title="Payload" value={payload} masked={masked} root="payload" />
        {(result !== null || status === 'completed') && (
          <JsonSection title="Result" value={result} masked={masked} root="result" />
        )}
        {cursor !== null && <JsonSection title="Cursor" value={cursor} masked={masked} root="cursor" />}
        {meta !== null && <JsonSection title="Meta" value={meta} masked={masked} root="meta" />}
        <JobFacts job={job} />
      </View>
    </>
  )
}

function Progress({ job: { progress, masked } }: { readonly job: JobDetails }) {
  const share = shareOf(progress)
  return (
    <Section title="Progress" {...(share !== null && { action: <Text strong>{percent(share)}</Text> })}>
      {share !== null && <ProgressBar label="Progress" share={share} />}
      {typeof progress !== 'number' && <JsonTree value={progress} masked={masked} root="progress" />}
    </Section>
  )
}

function Loading() {
  return (
    <View role="progressbar" aria-label="Loading" style={styles.content}>
      <Skeleton height={140} />
      <Skeleton height={200} />
      <Skeleton height={120} />
    </View>
  )
}

const styles = StyleSheet.create({
  content: { paddingHorizontal: space.l, paddingTop: space.s, gap: space.xl },
})
