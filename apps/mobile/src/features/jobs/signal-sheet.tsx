import { isOncueError, type Outputs } from '@oncue/sdk'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { EnvironmentBadge, isProduction } from '../../components/shell/environment-badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Skeleton } from '../../components/ui/skeleton.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct, useLock, useRead } from '../../lib/api.tsx'
import { shortId } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { useHealth } from '../../lib/use-health.ts'
import { space } from '../../theme/tokens.ts'
import { topicList } from '../topics/queries.ts'
import { isAnything } from '../topics/schema.ts'
import { pathIn, SchemaForm, useSchemaForm } from '../topics/schema-form.tsx'
import { signalsOf } from './signals.ts'

export interface SignalSheetProps {
  readonly job: Pick<Outputs['jobs']['get'], 'id' | 'topic' | 'waits'>
  readonly onClose: () => void
}

/** A signal for a live job: one that its topic announced, with data by its schema. */
export function SignalSheet({ job, onClose }: SignalSheetProps) {
  const { data: topics, error } = useRead(topicList)
  const signals = signalsOf(topics?.find(({ topic }) => topic === job.topic))
  const names = Object.keys(signals ?? {})
  const [chosen, setChosen] = useState<{ readonly name: string | null } | null>(null)
  const awaited = job.waits?.for.find(({ kind }) => kind === 'signal')?.name
  // The one that it waits for, or the only one.
  const [first] = names
  const likely =
    awaited !== undefined && names.includes(awaited) ? awaited : names.length === 1 ? first : null
  const name = chosen ? chosen.name : (likely ?? null)
  if (!topics && !error)
    return (
      <Sheet isOpen title="Send a signal" onClose={onClose}>
        <Skeleton height={120} />
      </Sheet>
    )
  // Without workers that announced the topic, the API takes any name.
  if (!signals || name !== null)
    return (
      <SignalForm
        key={name}
        {...{ job, name, onClose }}
        schema={name === null ? null : signals?.[name]}
        onOther={names.length > 1 ? () => setChosen({ name: null }) : null}
      />
    )
  return (
    <Sheet isOpen title="Which signal?" onClose={onClose}>
      {names.length === 0 && <Text>{`The topic ${job.topic} has no signals.`}</Text>}
      {names.map((each) => (
        <Button key={each} wide label={each} icon="signal" onPress={() => setChosen({ name: each })} />
      ))}
    </Sheet>
  )
}

interface SignalFormProps extends SignalSheetProps {
  /** Null: it is typed. */
  readonly name: string | null
  readonly schema: unknown
  readonly onOther: (() => void) | null
}

function SignalForm({ job: { id, topic }, name: given, schema, onOther, onClose }: SignalFormProps) {
  const [typed, setTyped] = useState('')
  const name = given ?? typed.trim()
  const form = useSchemaForm('signal', isAnything(schema) ? null : schema)
  const [problem, setProblem] = useState<string | null>(null)
  const [nameError, setNameError] = useState<string | null>(null)
  const toast = useToast()
  const lock = useLock('enqueue')
  const { data } = useHealth()
  const signal = useAct((client, value: unknown) => client.jobs.signal(id, name, value), {
    touches: ['jobs.timeline', 'jobs.get', 'jobs.explain', 'jobs.list'],
  })

  async function send() {
    setProblem(null)
    setNameError(name === '' ? 'Enter the name of the signal.' : null)
    const checked = form.read()
    if (!checked.ok || name === '') return
    try {
      await signal.run(checked.value)
      felt('done')
      onClose()
      toast.show({ text: `Sent ${name} to ${topic} ${shortId(id)}`, icon: 'check' })
    } catch (error) {
      felt('refused')
      const { text } = describeProblem(error)
      if (!isOncueError(error, 'INVALID_SIGNAL') || !form.refuse(pathIn(error), text)) setProblem(text)
    }
  }

  const isDelicate = lock === null && !signal.isRunning && isProduction(data?.environment ?? null)
  return (
    <Sheet
      isOpen
      title={given === null ? 'Send a signal' : `Signal “${given}”`}
      onClose={onClose}
      footer={
        <>
          {isDelicate ? (
            <HoldButton label="Hold to send" onConfirm={() => void send()} />
          ) : (
            <Button
              wide
              variant="primary"
              label="Send"
              lock={lock}
              isBusy={signal.isRunning}
              onPress={() => void send()}
            />
          )}
          {onOther && <Button wide label="Another signal" onPress={onOther} />}
        </>
      }
    >
      <View style={styles.where}>
        <EnvironmentBadge />
        <Text strong style={styles.job}>{`${topic} · ${shortId(id)}`}</Text>
      </View>
      {given === null && (
        <Field
          label="Name of the signal"
          value={typed}
          onChangeText={setTyped}
          error={nameError}
          help="No worker has announced this topic."
        />
      )}
      <SchemaForm form={form} />
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
