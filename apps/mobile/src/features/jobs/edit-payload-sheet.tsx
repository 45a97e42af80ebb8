import { diffJson, type JsonChange } from '@oncue/sdk'
import { useMemo, useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { EnvironmentBadge } from '../../components/shell/environment-badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct, useLock, useRead } from '../../lib/api.tsx'
import { count, shortId } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { space } from '../../theme/tokens.ts'
import { TOUCHED } from '../bulk-operations/queries.ts'
import { topicList } from '../topics/queries.ts'
import { payloadField } from '../topics/schema.ts'
import { checkPayload } from './check-payload.ts'
import type { JobDetails } from './job-stream.ts'

const SHOWN_FAULTS = 5
const SHOWN_CHANGES = 50
const SHOWN_TEXT = 300
/** Of the field: longer payloads are scrolled in it. */
const MAX_ROWS = 14

export interface EditPayloadSheetProps {
  readonly job: JobDetails
  readonly onClose: () => void
}

/** Another payload for a job, in three steps: written, compared with the old one, held to confirm. Shown while it is mounted. */
export function EditPayloadSheet({ job, onClose }: EditPayloadSheetProps) {
  // As it was when it was opened: should it change meanwhile, the API refuses.
  const [seen] = useState(job)
  const [text, setText] = useState(() => JSON.stringify(seen.payload, null, 2))
  const [isReviewed, setReviewed] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const topics = useRead(topicList)
  const toast = useToast()
  const lock = useLock('edit')
  const schema = topics.data?.find(({ topic }) => topic === seen.topic)?.input ?? null
  const { value, faults } = useMemo(() => checkPayload(text, payloadField(schema)), [text, schema])
  const { changes, more } = useMemo(() => diffJson(seen.payload, value, SHOWN_CHANGES), [seen.payload, value])
  const requeue = useAct((client, payload: unknown) => client.jobs.requeueWithPayload(seen, payload), {
    touches: [...TOUCHED, 'jobs.get', 'jobs.stats'],
  })

  const confirm = async () => {
    setProblem(null)
    try {
      await requeue.run(value)
      felt('done')
      onClose()
      toast.show({ text: `Retried ${shortId(seen.id)} with another payload`, icon: 'check' })
    } catch (error) {
      felt('refused')
      setProblem(describeProblem(error).text)
    }
  }

  const isReady = lock === null && faults.length === 0 && changes.length > 0
  return (
    <Sheet
      isOpen
      title={isReviewed ? 'Retry with this payload?' : 'Edit payload'}
      onClose={onClose}
      footer={
        isReviewed ? (
          <>
            <HoldOrBusy isBusy={requeue.isRunning} onConfirm={() => void confirm()} />
            <Button
              wide
              label="Back to the payload"
              needs={requeue.isRunning ? 'It is being sent.' : null}
              onPress={() => {
                setProblem(null)
                setReviewed(false)
              }}
            />
          </>
        ) : (
          <Button
            wide
            variant="primary"
            label="Review the changes"
            lock={lock}
            needs={
              isReady ? null : faults.length > 0 ? 'Correct the payload first.' : 'Nothing has changed yet.'
            }
            onPress={() => setReviewed(true)}
          />
        )
      }
    >
      <View style={styles.where}>
        <EnvironmentBadge />
        <Text strong style={styles.job}>{`${seen.topic} in ${seen.queue} · ${shortId(seen.id)}`}</Text>
      </View>
      {isReviewed ? (
        <>
          {changes.map((change) => (
            <Change key={pathOf(change)} change={change} />
          ))}
          {more > 0 && <Text color="textMuted">{`and ${count(more, 'more change')}`}</Text>}
          <Text variant="small" color="textMuted">
            Runs as soon as a worker is free, with all retries. Finished steps are not repeated. Your name and
            the changed fields are recorded.
          </Text>
        </>
      ) : (
        <>
          <Field
            label="Payload"
            value={text}
            onChangeText={setText}
            multiline
            numberOfLines={Math.min(MAX_ROWS, text.split('\n').length + 1)}
            isCode
            help={
              schema === null
                ? 'JSON. No schema is known for this topic.'
                : 'JSON, checked against the schema of the topic.'
            }
          />
          {faults.slice(0, SHOWN_FAULTS).map(({ path, text: fault }) => (
            <Text key={`${path} ${fault}`} variant="small" color="bad" role="alert">
              {path === null ? fault : `${path} ${fault}`}
            </Text>
          ))}
          {faults.length > SHOWN_FAULTS && (
            <Text
              variant="small"
              color="bad"
            >{`and ${count(faults.length - SHOWN_FAULTS, 'more problem')}`}</Text>
          )}
          <MaskedNote masked={seen.masked} />
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

function HoldOrBusy({ isBusy, onConfirm }: { readonly isBusy: boolean; readonly onConfirm: () => void }) {
  if (isBusy) return <Button wide variant="primary" label="Retrying" isBusy onPress={onConfirm} />
  return <HoldButton label="Hold to retry" onConfirm={onConfirm} />
}

/** Only admins see those values, and the mask itself is refused. */
function MaskedNote({ masked }: { readonly masked: readonly string[] }) {
  const hidden = masked.filter((path) => path.startsWith('payload'))
  if (hidden.length === 0) return null
  return (
    <Text variant="small" color="warn">
      {`Masked for you: ${hidden.slice(0, 5).join(', ')}. Write the real values, or ask an admin.`}
    </Text>
  )
}

function Change({ change }: { readonly change: JsonChange }) {
  return (
    <View style={styles.change}>
      <Text variant="label">{pathOf(change)}</Text>
      {'before' in change && <Text variant="code" color="bad">{`− ${shown(change.before)}`}</Text>}
      {'after' in change && <Text variant="code" color="good">{`+ ${shown(change.after)}`}</Text>}
    </View>
  )
}

function pathOf({ path }: JsonChange): string {
  return path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}.${key}`),
    'payload',
  )
}

function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > SHOWN_TEXT ? `${text.slice(0, SHOWN_TEXT)}…` : text
}

const styles = StyleSheet.create({
  where: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', gap: space.s },
  job: { flexShrink: 1, minWidth: 0 },
  change: { gap: 2 },
})
