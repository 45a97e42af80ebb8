import { isOncueError } from '@oncue/sdk'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { EnvironmentBadge, isProduction } from '../../components/shell/environment-badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useAct, useLock } from '../../lib/api.tsx'
import { shortId } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useOpen } from '../../lib/use-open.ts'
import { type Entered, type Errors, enteredOf, fieldAt, readForm } from './form.ts'
import { type OptionText, readOptions } from './options.ts'
import { PayloadFields } from './payload-fields.tsx'
import { policyOf } from './policy.ts'
import type { Topic } from './queries.ts'
import { payloadField } from './schema.ts'

const WAYS = [
  { value: 'form', label: 'Form' },
  { value: 'json', label: 'JSON' },
] as const

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
  const form = payloadField(topic.input)
  const hasForm = form.shape.kind !== 'json'
  const [way, setWay] = useState<'form' | 'json'>(hasForm ? 'form' : 'json')
  const [entered, setEntered] = useState<Entered>(() => enteredOf(form))
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
  // The whole payload as one field, where it is written as JSON.
  const field = way === 'json' ? { ...payloadField(null), isRequired: false } : form
  const policy = policyOf(topic)

  function choose(next: 'form' | 'json') {
    const checked = readForm(form, entered)
    if (next === 'json' && checked.ok)
      setEntered({ ...entered, payload: JSON.stringify(checked.value, null, 2) })
    setErrors({})
    setWay(next)
  }

  async function send() {
    setProblem(null)
    const payload = readForm(field, entered)
    const wanted = readOptions(options)
    setErrors({ ...(payload.ok ? {} : payload.errors), ...wanted.errors })
    if (!payload.ok || !wanted.options) return
    try {
      setDoneId(await enqueue.run({ payload: payload.value, options: wanted.options }))
      felt('done')
    } catch (error) {
      felt('refused')
      const place = placeOf(error, (path) => fieldAt(field, path))
      const { text } = describeProblem(error)
      if (place === null) setProblem(text)
      else setErrors({ [place]: text })
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
      {hasForm && <Segmented label="Payload as" options={WAYS} value={way} onChange={choose} />}
      <PayloadFields
        field={field}
        entered={entered}
        errors={errors}
        onChange={(path, text) => setEntered({ ...entered, [path]: text })}
      />
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

/** The field of an error from the API or the check before it. Null: no field of this form. */
function placeOf(error: unknown, fieldOf: (path: string) => string | null): string | null {
  if (!isOncueError(error)) return null
  const { path } = error.details ?? {}
  const named = typeof path === 'string' ? path : (/^[\w$.[\]"]+/.exec(error.message)?.[0] ?? '')
  const [, option] = /^(?:input|options)\.(queue|priority|delay)$/.exec(named) ?? []
  if (option !== undefined) return option
  if (error.code === 'INVALID_QUEUE' || error.code === 'QUEUE_NOT_ALLOWED') return 'queue'
  if (error.code === 'INVALID_PRIORITY') return 'priority'
  return fieldOf(named.replace(/^input\.(?=payload)/, ''))
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
