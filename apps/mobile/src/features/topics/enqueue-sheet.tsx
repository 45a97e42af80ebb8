import { isOncueError } from '@oncue/sdk'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { EnvironmentBadge, isProduction } from '../../components/shell/environment-badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useAct, useLock } from '../../lib/api.tsx'
import { shortId } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useOpen } from '../../lib/use-open.ts'
import type { Errors } from './form.ts'
import { type OptionText, readOptions } from './options.ts'
import { policyOf } from './policy.ts'
import type { Topic } from './queries.ts'
import { pathIn, SchemaForm, useSchemaForm } from './schema-form.tsx'

interface Request {
  readonly payload: unknown
  readonly options: NonNullable<ReturnType<typeof readOptions>['options']>
}

export interface EnqueueSheetProps {
  readonly topic: Topic
  readonly onClose: () => void
}

/** Enqueues one job by hand: a payload by the topic's schema, and options. */
export function EnqueueSheet({ topic, onClose }: EnqueueSheetProps) {
  const form = useSchemaForm('payload', topic.input)
  const [options, setOptions] = useState<OptionText>({ queue: '', priority: '', delay: '' })
  const [errors, setErrors] = useState<Errors>({})
  const [problem, setProblem] = useState<string | null>(null)
  const [doneId, setDoneId] = useState<string | null>(null)
  const { data } = useHealth()
  const lock = useLock('enqueue')
  const enqueue = useAct(
    (client, request: Request) => client.jobs.enqueue(topic.topic, request.payload, request.options),
    { touches: ['health.get', 'jobs.list', 'jobs.stats'] },
  )
  const policy = policyOf(topic)

  async function send() {
    setProblem(null)
    const payload = form.read()
    const wanted = readOptions(options)
    setErrors(wanted.errors)
    if (!payload.ok || !wanted.options) return
    try {
      setDoneId(await enqueue.run({ payload: payload.value, options: wanted.options }))
      felt('done')
    } catch (error) {
      felt('refused')
      const option = optionIn(error)
      const { text } = describeProblem(error)
      if (option !== null) setErrors({ [option]: text })
      else if (!form.refuse(pathIn(error), text)) setProblem(text)
    }
  }

  if (doneId !== null)
    return <Done topic={topic.topic} jobId={doneId} onAgain={() => setDoneId(null)} onClose={onClose} />
  const isDelicate = lock === null && !enqueue.isRunning && isProduction(data?.environment ?? null)
  const option = (name: keyof OptionText) => ({
    value: options[name],
    onChangeText: (text: string) => setOptions({ ...options, [name]: text }),
    error: errors[name] ?? null,
  })
  return (
    <Sheet
      isOpen
      title={`Enqueue “${topic.topic}”`}
      onClose={onClose}
      footer={
        isDelicate ? (
          <HoldButton label="Hold to enqueue" onConfirm={() => void send()} />
        ) : (
          <Button
            wide
            variant="primary"
            label="Enqueue"
            lock={lock}
            isBusy={enqueue.isRunning}
            onPress={() => void send()}
          />
        )
      }
    >
      <View style={styles.where}>
        <EnvironmentBadge />
      </View>
      <SchemaForm form={form} />
      <Field label="Queue" placeholder={policy.queue} {...option('queue')} />
      <Field
        label="Priority"
        placeholder={String(policy.priority)}
        help="Higher runs first."
        inputMode="numeric"
        {...option('priority')}
      />
      <Field
        label="Delay, in minutes"
        placeholder="0"
        help="Empty: it may start at once."
        inputMode="decimal"
        {...option('delay')}
      />
      {problem !== null && (
        <Text color="bad" role="alert">
          {problem}
        </Text>
      )}
    </Sheet>
  )
}

/** The option that an error from the API or the check before it is about. */
function optionIn(error: unknown): keyof OptionText | null {
  if (!isOncueError(error)) return null
  const [, option] = /^(?:input|options)\.(queue|priority|delay)$/.exec(pathIn(error)) ?? []
  if (option !== undefined) return option as keyof OptionText
  if (error.code === 'INVALID_QUEUE' || error.code === 'QUEUE_NOT_ALLOWED') return 'queue'
  return error.code === 'INVALID_PRIORITY' ? 'priority' : null
}

interface DoneProps {
  readonly topic: string
  readonly jobId: string
  readonly onAgain: () => void
  readonly onClose: () => void
}

function Done({ topic, jobId, onAgain, onClose }: DoneProps) {
  const openJob = useOpen('jobId')
  return (
    <Sheet
      isOpen
      title="Enqueued"
      onClose={onClose}
      footer={
        <>
          <Button
            wide
            variant="primary"
            label="Open the job"
            icon="open"
            onPress={() => {
              onClose()
              openJob(jobId)
            }}
          />
          <Button wide label="Enqueue another" onPress={onAgain} />
        </>
      }
    >
      <Text>{`${topic}, job ${shortId(jobId)}`}</Text>
    </Sheet>
  )
}

const styles = StyleSheet.create({ where: { flexDirection: 'row' } })
