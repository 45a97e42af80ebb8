import { isOncueError } from '@oncue/sdk'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { EnvironmentBadge, isProduction } from '../../components/shell/environment-badge.tsx'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct } from '../../lib/api.tsx'
import { moment, shortId } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useOpen } from '../../lib/use-open.ts'
import { space } from '../../theme/tokens.ts'
import { pathIn, SchemaForm, useSchemaForm } from '../topics/schema-form.tsx'
import type { Question } from './queries.ts'
import { useAnswerLock } from './use-answer-lock.ts'
import { closedInWords } from './words.ts'

export interface AnswerSheetProps {
  readonly question: Question
  /** The page of its job is open already. */
  readonly isOnJob?: boolean
  readonly onClose: () => void
}

/** An answer to the question of a job, in a form that is made from its schema. */
export function AnswerSheet({ question: asked, isOnJob = false, onClose }: AnswerSheetProps) {
  // As it was when it was opened: should it be answered meanwhile, the API says so.
  const [question] = useState(asked)
  const { id, name, topic, schema, until, refused } = question
  const form = useSchemaForm('answer', schema, { isRequired: true })
  const [problem, setProblem] = useState<string | null>(null)
  const [closed, setClosed] = useState<string | null>(null)
  const lock = useAnswerLock(question)
  const toast = useToast()
  const openJob = useOpen('jobId')
  const { data } = useHealth()
  const answer = useAct((client, value: unknown) => client.jobs.answer(id, name, value), {
    touches: ['jobs.questions', 'jobs.timeline', 'jobs.get', 'jobs.explain', 'jobs.list', 'health.get'],
  })

  async function send() {
    setProblem(null)
    const checked = form.read()
    if (!checked.ok) return
    try {
      await answer.run(checked.value)
      felt('done')
      onClose()
      toast.show({ text: `Answered: ${topic} ${shortId(id)} goes on`, icon: 'check' })
    } catch (error) {
      felt('refused')
      const { text } = describeProblem(error)
      const why = closedInWords(error)
      if (why !== null) setClosed(why)
      else if (!isOncueError(error, 'INVALID_ANSWER') || !form.refuse(pathIn(error), text)) setProblem(text)
    }
  }

  const showJob = () => {
    onClose()
    openJob(id)
  }
  const isDelicate = lock === null && !answer.isRunning && isProduction(data?.environment ?? null)
  return (
    <Sheet
      isOpen
      title="Question"
      onClose={onClose}
      footer={
        <>
          {closed !== null ? (
            <Button wide variant="primary" label="Close" onPress={onClose} />
          ) : isDelicate ? (
            <HoldButton label="Hold to answer" onConfirm={() => void send()} />
          ) : (
            <Button
              wide
              variant="primary"
              label="Answer"
              lock={lock}
              isBusy={answer.isRunning}
              onPress={() => void send()}
            />
          )}
          {!isOnJob && <Button wide label="Open the job" icon="open" onPress={showJob} />}
        </>
      }
    >
      <View style={styles.where}>
        <EnvironmentBadge />
        <Text strong style={styles.job}>{`${topic} · ${shortId(id)}`}</Text>
      </View>
      <Text variant="title" level={3}>
        {question.question}
      </Text>
      {until && (
        <Text
          variant="small"
          color="textMuted"
        >{`Without an answer by ${moment(until)} the job goes on.`}</Text>
      )}
      {closed !== null ? (
        <Banner tone="warn" icon="warn" text={closed} />
      ) : (
        <>
          {refused !== null && (
            <Banner tone="warn" icon="warn" text="The job refused the last answer" detail={refused} />
          )}
          {lock !== null && <Banner tone="neutral" icon="lock" text="You cannot answer" detail={lock} />}
          <SchemaForm form={form} />
        </>
      )}
      {problem !== null && (
        <Text color="bad" role="alert">
          {problem}
        </Text>
      )}
    </Sheet>
  )
}

const styles = StyleSheet.create({
  where: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', gap: space.s },
  job: { flexShrink: 1, minWidth: 0 },
})
