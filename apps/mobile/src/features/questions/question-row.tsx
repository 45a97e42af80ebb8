import { Badge } from '../../components/ui/badge.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useServerNow } from '../../lib/clock.ts'
import { shortId } from '../../lib/format.ts'
import type { Question } from './queries.ts'
import { useAnswerLock } from './use-answer-lock.ts'
import { openInWords } from './words.ts'

interface QuestionRowProps {
  readonly question: Question
  readonly onPress: () => void
}

/** An open question, and what it is about. */
export function QuestionRow({ question: asked, onPress }: QuestionRowProps) {
  const lock = useAnswerLock(asked)
  const { question, id, topic, refused } = asked
  const since = openInWords(asked, useServerNow())
  return (
    <Row
      label={`${question}, ${topic} ${shortId(id)}, ${since}${refused === null ? '' : ', last answer refused'}${lock === null ? '' : `, locked: ${lock}`}`}
      onPress={onPress}
      leading={
        <Icon name={lock === null ? 'questions' : 'lock'} color={lock === null ? 'accent' : 'textMuted'} />
      }
    >
      <Text variant="heading" numberOfLines={4}>
        {question}
      </Text>
      {refused !== null && <Badge label="answer refused" tone="warn" />}
      <Text variant="small" color="textMuted">{`${topic} · ${shortId(id)} · ${since}`}</Text>
    </Row>
  )
}
