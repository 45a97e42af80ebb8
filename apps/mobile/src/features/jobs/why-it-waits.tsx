import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { serverNow, useServerNow } from '../../lib/clock.ts'
import { unbroken } from '../../lib/format.ts'
import { JobLink } from './job-link.tsx'
import type { JobDetails } from './job-stream.ts'
import { explanation } from './queries.ts'
import { Card, Section } from './section.tsx'
import { openWaits, waitInWords } from './waits.ts'

/** What keeps a waiting job from running now, and the jobs that it waits for. */
export function WhyItWaits({ job }: { readonly job: JobDetails }) {
  const { id, status } = job
  const isWaiting = status === 'pending' || status === 'blocked'
  const { data } = useRead(explanation(id, isWaiting))
  const waits = openWaits(job, useServerNow())
  if (!isWaiting) return null
  // In the words that every list has for it.
  const reasons = (data?.reasons ?? []).filter(({ kind }) => kind !== 'suspended' || !waits)
  if (reasons.length === 0 && !waits) return null
  return (
    <Section title="Why is it waiting?">
      <Card>
        {waits && <Text>{waitInWords(waits, serverNow(), job.ending !== null)}</Text>}
        {reasons.map(({ kind, text }) => (
          <Text key={`${kind} ${text}`}>{unbroken(text)}</Text>
        ))}
        {data?.waitsFor.map((parent) => (
          <JobLink key={parent.id} job={parent} />
        ))}
      </Card>
    </Section>
  )
}
