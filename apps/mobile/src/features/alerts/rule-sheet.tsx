import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Button } from '../../components/ui/button.tsx'
import { Chip } from '../../components/ui/chip.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { Toggle } from '../../components/ui/toggle.tsx'
import { useAct, useLock, useRead } from '../../lib/api.tsx'
import { moment } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { useHealth } from '../../lib/use-health.ts'
import { space } from '../../theme/tokens.ts'
import { type NewRule, type Rule, topicNames } from './queries.ts'
import { conditionOf, fromEntered, KINDS, type Kind, placeOf, toEntered } from './words.ts'

const KIND_NAMES = Object.keys(KINDS) as Kind[]
const MINUTE = 60
const TOUCHES = ['alerts.rules', 'alerts.list', 'alerts.get']

interface Entered {
  readonly name: string
  readonly kind: Kind
  readonly queue: string
  readonly topic: string
  readonly limit: string
  readonly minutes: string
  readonly enabled: boolean
}

export interface RuleSheetProps {
  /** Null: a new one. */
  readonly rule: Rule | null
  readonly onClose: () => void
}

/** One rule: its limit, how long the condition must last, whether it is enabled. */
export function RuleSheet({ rule, onClose }: RuleSheetProps) {
  const lock = useLock('admin')
  const toast = useToast()
  const [entered, setEntered] = useState(() => enteredOf(rule))
  const [isAsked, setAsked] = useState(false)
  const change = (part: Partial<Entered>) => setEntered({ ...entered, ...part })
  const save = useAct(
    (client, next: NewRule) => {
      const { name, threshold, forSeconds, enabled } = next
      if (!rule) return client.alerts.createRule(next)
      return client.alerts.updateRule({ id: rule.id, name, threshold, forSeconds, enabled })
    },
    { touches: TOUCHES },
  )
  const remove = useAct((client, id: string) => client.alerts.deleteRule({ id }), { touches: TOUCHES })
  const { unit, isOfAll, isOfTopic } = KINDS[entered.kind]
  const read = readEntered(entered)

  async function done(what: () => Promise<unknown>, text: string) {
    try {
      const saved = await what()
      felt('done')
      onClose()
      toast.show(textOf(saved, text))
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }

  function submit() {
    setAsked(true)
    if (read) void done(() => save.run(read), rule ? 'Rule saved' : 'Rule added')
  }

  /** The server warns about a saved name that it does not know: it may be mistyped. */
  const warningIn = (saved: unknown) =>
    typeof saved === 'object' && saved !== null && 'warning' in saved && typeof saved.warning === 'string'
      ? saved.warning
      : null

  const textOf = (saved: unknown, text: string) => {
    const warning = warningIn(saved)
    return warning === null
      ? { text, icon: 'check' as const }
      : { text: `${text}. ${warning}`, icon: 'warn' as const }
  }

  return (
    <Sheet
      isOpen
      title={rule ? rule.name : 'New rule'}
      onClose={onClose}
      footer={
        <>
          {lock !== null && (
            <Text variant="label" color="textMuted">
              {lock}
            </Text>
          )}
          <Button wide variant="primary" label="Save" lock={lock} isBusy={save.isRunning} onPress={submit} />
          {rule && rule.builtIn === null && lock === null && (
            <HoldButton
              label="Hold to delete this rule"
              variant="danger"
              onConfirm={() => void done(() => remove.run(rule.id), `“${rule.name}” deleted`)}
            />
          )}
        </>
      }
    >
      {!rule && <KindChoice kind={entered.kind} onChange={(kind) => change({ kind })} />}
      {read && <Text color="textMuted">{`Fires when ${conditionOf(read)} (${placeOf(read)}).`}</Text>}
      <Field
        label="Name"
        value={entered.name}
        onChangeText={(name) => change({ name })}
        maxLength={100}
        editable={lock === null}
        error={isAsked && entered.name.trim() === '' ? 'Enter a name' : null}
      />
      {!rule && !isOfAll && !isOfTopic && (
        <>
          <Field
            label="Queue"
            placeholder="all queues"
            value={entered.queue}
            onChangeText={(queue) => change({ queue })}
          />
          <KnownQueues entered={entered.queue} onChoose={(queue) => change({ queue })} />
        </>
      )}
      {!rule && isOfTopic && (
        <>
          <Field
            label="Topic"
            value={entered.topic}
            onChangeText={(topic) => change({ topic })}
            error={isAsked && entered.topic.trim() === '' ? 'Enter a topic' : null}
          />
          <KnownTopics entered={entered.topic} onChoose={(topic) => change({ topic })} />
        </>
      )}
      <Field
        label={`Limit, in ${unit}`}
        value={entered.limit}
        onChangeText={(limit) => change({ limit })}
        inputMode="decimal"
        editable={lock === null}
        error={limitOf(entered) === null ? 'Enter a number, such as 5' : null}
      />
      <Field
        label="Must last, in minutes"
        value={entered.minutes}
        onChangeText={(minutes) => change({ minutes })}
        inputMode="decimal"
        editable={lock === null}
        error={fromEntered(entered.minutes, MINUTE) === null ? 'Enter a number; 0 fires at once' : null}
      />
      <Toggle
        label="Enabled"
        help="Off: the rule is not evaluated, and its alerts are resolved."
        isOn={entered.enabled}
        lock={lock}
        onChange={(enabled) => change({ enabled })}
      />
      {rule?.updatedBy && (
        <Text variant="small" color="textMuted">
          {`Last changed by ${rule.updatedBy}, ${moment(rule.updated)}`}
        </Text>
      )}
    </Sheet>
  )
}

interface KnownProps {
  readonly entered: string
  readonly onChoose: (name: string) => void
}

const MAX_KNOWN = 12

function KnownQueues(props: KnownProps) {
  const { data: health } = useHealth()
  return <Known {...props} what="Known queues" names={health?.queues.map(({ queue }) => queue) ?? []} />
}

function KnownTopics(props: KnownProps) {
  const { data = [] } = useRead(topicNames)
  return <Known {...props} what="Known topics" names={data} />
}

/** Known names to pick from, narrowed down by typing. */
function Known({ entered, onChoose, what, names }: KnownProps & { what: string; names: readonly string[] }) {
  const like = [...names].sort().filter((name) => name.includes(entered.trim()))
  if (like.length === 0) return null
  return (
    <View style={styles.kinds} role="group" aria-label={what}>
      {like.slice(0, MAX_KNOWN).map((name) => (
        <Chip key={name} label={name} isOn={name === entered.trim()} onPress={() => onChoose(name)} />
      ))}
    </View>
  )
}

function KindChoice({ kind, onChange }: { readonly kind: Kind; readonly onChange: (kind: Kind) => void }) {
  return (
    <View style={styles.kinds} role="group" aria-label="Kind of rule">
      {KIND_NAMES.map((name) => (
        <Chip key={name} label={KINDS[name].title} isOn={name === kind} onPress={() => onChange(name)} />
      ))}
    </View>
  )
}

function enteredOf(rule: Rule | null): Entered {
  if (!rule)
    return {
      name: '',
      kind: 'oldest_waiting',
      queue: '',
      topic: '',
      limit: '5',
      minutes: '1',
      enabled: true,
    }
  const { name, kind, queue, topic, threshold, forSeconds, enabled } = rule
  const limit = toEntered(threshold, KINDS[kind].scale)
  const minutes = toEntered(forSeconds, MINUTE)
  return { name, kind, queue: queue ?? '', topic: topic ?? '', limit, minutes, enabled }
}

const limitOf = ({ limit, kind }: Entered) => fromEntered(limit, KINDS[kind].scale)

/** Null: something is missing, and its field says so. */
function readEntered(entered: Entered) {
  const threshold = limitOf(entered)
  const forSeconds = fromEntered(entered.minutes, MINUTE)
  const name = entered.name.trim()
  if (threshold === null || forSeconds === null || name === '') return null
  const { kind, enabled } = entered
  const { isOfAll, isOfTopic } = KINDS[kind]
  const queue = isOfAll || isOfTopic ? null : entered.queue.trim() || null
  const topic = isOfTopic ? entered.topic.trim() : null
  if (topic === '') return null
  return { name, kind, queue, topic, threshold, forSeconds: Math.round(forSeconds), enabled }
}

const styles = StyleSheet.create({ kinds: { flexDirection: 'row', flexWrap: 'wrap', columnGap: space.s } })
