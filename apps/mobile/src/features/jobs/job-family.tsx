import { View } from 'react-native'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { JobLink } from './job-link.tsx'
import { family } from './queries.ts'
import { Card, Section } from './section.tsx'

/** The job that spawned it, those that it spawned, and those that wait for it. */
export function JobFamily({ jobId }: { readonly jobId: string }) {
  const { data } = useRead(family(jobId))
  if (!data) return null
  const { parent, children, childrenAreComplete, dependants } = data
  const groups = [
    { title: 'Parent', jobs: parent ? [parent] : [] },
    { title: childrenAreComplete ? 'Children' : 'Children, the first of them', jobs: children },
    { title: 'Jobs that wait for it', jobs: dependants },
  ].filter(({ jobs }) => jobs.length > 0)
  if (groups.length === 0) return null
  return (
    <Section title="Family">
      <Card>
        {groups.map(({ title, jobs }) => (
          <View key={title}>
            <Text variant="small" color="textMuted">
              {title}
            </Text>
            {jobs.map((job) => (
              <JobLink key={job.id} job={job} />
            ))}
          </View>
        ))}
      </Card>
    </Section>
  )
}
