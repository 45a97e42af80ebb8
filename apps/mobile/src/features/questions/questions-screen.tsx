import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useRead } from '../../lib/api.tsx'
import { space } from '../../theme/tokens.ts'
import { AnswerSheet } from '../desk-parts.tsx'
import { MOST_QUESTIONS, openQuestions, type Question } from './queries.ts'
import { QuestionRow } from './question-row.tsx'

/** What jobs ask people, the oldest question first. Each is answered here. */
export function QuestionsScreen() {
  const read = useRead(openQuestions)
  const [answering, setAnswering] = useState<Question | null>(null)
  return (
    <Page title="Questions" parent="/settings" onRefresh={() => void read.refetch()}>
      <ReadState
        read={read}
        isEmpty={(questions) => questions.length === 0}
        empty={{ icon: 'questions', title: 'No open questions', text: 'No job waits for an answer.' }}
      >
        {(questions) => (
          <>
            {questions.map((question) => (
              <QuestionRow
                key={`${question.id} ${question.name}`}
                question={question}
                onPress={() => setAnswering(question)}
              />
            ))}
            {questions.length >= MOST_QUESTIONS && (
              <View style={styles.more}>
                <Text color="textMuted">{`The ${MOST_QUESTIONS} oldest are shown.`}</Text>
              </View>
            )}
          </>
        )}
      </ReadState>
      {answering && <AnswerSheet question={answering} onClose={() => setAnswering(null)} />}
    </Page>
  )
}

const styles = StyleSheet.create({ more: { padding: space.l } })
