import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { unbroken } from '../../lib/format.ts'
import { JobLink } from './job-link.tsx'
import { explanation } from './queries.ts'
import { Card, Section } from './section.tsx'
import type { JobDetails } from './timeline.ts'

/** What keeps a waiting job from running now, and the jobs that it waits for. */
export function WhyItWaits({ job: { id, status } }: { readonly job: JobDetails }) {
  const isWaiting = status === 'pending' || status === 'blocked'
  const { data } = useRead(explanation(id, isWaiting))
  if (!isWaiting || !data || data.reasons.length === 0) return null
  return (
    <Section title="Why is it waiting?">
      <Card>
        {data.reasons.map(({ kind, text }) => (
          <Text key={`${kind} ${text}`}>{unbroken(text)}</Text>
        ))}
        {data.waitsFor.map((parent) => (
          <JobLink key={parent.id} job={parent} />
        ))}
      </Card>
    </Section>
  )
}
