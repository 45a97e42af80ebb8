import { isFinished } from '@oncue/sdk'
import { useState } from 'react'
import { Button } from '../../components/ui/button.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { useServerNow } from '../../lib/clock.ts'
import { AnswerSheet } from '../desk-parts.tsx'
import { type Question, questionsOf } from '../questions/queries.ts'
import { useAnswerLock } from '../questions/use-answer-lock.ts'
import { openInWords } from '../questions/words.ts'
import type { JobDetails } from './job-stream.ts'
import { Card, Section } from './section.tsx'

/** What a job asks people now. */
export function OpenQuestions({ job: { id, status, run } }: { readonly job: JobDetails }) {
  const mayAsk = run > 0 && !isFinished(status)
  const { data } = useRead(questionsOf(id, mayAsk))
  const [answering, setAnswering] = useState<Question | null>(null)
  const questions = mayAsk ? (data ?? []) : []
  if (questions.length === 0 && !answering) return null
  return (
    <>
      {questions.length > 0 && (
        <Section title={questions.length === 1 ? 'Question' : 'Questions'}>
          {questions.map((question) => (
            <Asked key={question.name} question={question} onAnswer={() => setAnswering(question)} />
          ))}
        </Section>
      )}
      {answering && <AnswerSheet question={answering} isOnJob onClose={() => setAnswering(null)} />}
    </>
  )
}

function Asked({ question, onAnswer }: { readonly question: Question; readonly onAnswer: () => void }) {
  const lock = useAnswerLock(question)
  const { refused } = question
  return (
    <Card>
      <Text variant="heading">{question.question}</Text>
      <Text variant="small" color="textMuted">
        {openInWords(question, useServerNow())}
      </Text>
      {refused !== null && (
        <Text variant="small" color="warn">
          {`The last answer was refused: ${refused}`}
        </Text>
      )}
      <Button label="Answer" icon="questions" variant="primary" lock={lock} onPress={onAnswer} />
    </Card>
  )
}
