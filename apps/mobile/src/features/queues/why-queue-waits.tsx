import type { ReactNode } from 'react'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { unbroken } from '../../lib/format.ts'
import { Card, Section } from '../jobs/section.tsx'
import { queueExplanation } from './queries.ts'

export interface WhyQueueWaitsProps {
  readonly queue: string
  readonly isWaiting: boolean
  /** How fast it empties, until it is known what more slots would change. */
  readonly pace?: ReactNode
}

/** What keeps the jobs of a queue from running now, and how long until none waits. */
export function WhyQueueWaits({ queue, isWaiting, pace }: WhyQueueWaitsProps) {
  const { data } = useRead(queueExplanation(queue, isWaiting))
  if (!isWaiting) return null
  const drain = data?.drain?.withSlots ? unbroken(data.drain.text) : pace
  return (
    <>
      {drain && <Text color="textMuted">{drain}</Text>}
      {data && data.reasons.length > 0 && (
        <Section title="Why are jobs waiting?">
          <Card>
            {data.reasons.map(({ kind, text }) => (
              <Text key={`${kind} ${text}`}>{unbroken(text)}</Text>
            ))}
          </Card>
        </Section>
      )}
    </>
  )
}
