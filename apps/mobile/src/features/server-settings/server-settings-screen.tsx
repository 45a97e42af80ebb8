import type { Inputs } from '@oncue/sdk'
import { type ReactNode, useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { AdminOnly } from '../../components/shell/admin-only.tsx'
import { isProduction } from '../../components/shell/environment-badge.tsx'
import { Page } from '../../components/shell/page.tsx'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Chip } from '../../components/ui/chip.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { Toggle } from '../../components/ui/toggle.tsx'
import { type Read, useAct, useLock, useRead } from '../../lib/api.tsx'
import { felt } from '../../lib/haptics.ts'
import { useHealth } from '../../lib/use-health.ts'
import { space } from '../../theme/tokens.ts'
import {
  changesOf,
  type SettingName,
  type Settings,
  type SettingsText,
  sourceInWords,
  textOf,
  type Values,
} from './settings-form.ts'

const serverSettings: Read<Settings> = {
  key: ['settings.get'],
  call: (client, options) => client.settings.get(undefined, options),
}

type AccessRule = Values['enqueueRule']
type Rules = readonly (readonly [rule: AccessRule, label: string, ...same: AccessRule[]])[]

const EVERYONE: Rules = [
  ["@request.auth.id != ''", 'Everyone signed in'],
  ['true', 'Everyone, signed in or not'],
]

/** Each choice by the roles that it lets in, and the other rules that let in the same: viewers cannot enqueue. */
const ENQUEUE_RULES: Rules = [
  ['', 'Admins', 'admin'],
  ['operator', 'Operators and admins', 'viewer'],
  ['producer', 'Producers, operators and admins'],
  ...EVERYONE,
]

/** Likewise: producers cannot read. */
const MANAGE_RULES: Rules = [
  ['', 'Admins', 'admin'],
  ['operator', 'Operators and admins', 'producer'],
  ['viewer', 'Viewers, operators and admins'],
  ...EVERYONE,
]

const VALIDATION = [
  { value: 'reject', label: 'Reject' },
  { value: 'warn', label: 'Warn' },
  { value: 'off', label: 'Off' },
] as const

/** Settings of the server: what it accepts, and from whom. */
export function ServerSettingsScreen() {
  return (
    <Page title="Server settings" parent="/settings">
      <AdminOnly what="Server settings are">
        <Shown />
      </AdminOnly>
    </Page>
  )
}

function Shown() {
  const read = useRead(serverSettings)
  const [version, setVersion] = useState(0)
  return (
    <ReadState read={read}>
      {(settings) => <Form key={version} settings={settings} onSaved={() => setVersion(version + 1)} />}
    </ReadState>
  )
}

interface FormProps {
  readonly settings: Settings
  readonly onSaved: () => void
}

function Form({ settings, onSaved }: FormProps) {
  const { values, sources } = settings
  const [text, setText] = useState(() => textOf(values))
  const lock = useLock('admin')
  const toast = useToast()
  const { data } = useHealth()
  const setting = useAct((client, next: Inputs['settings']['set']) => client.settings.set(next), {
    touches: ['settings.get'],
  })
  const changes = changesOf(values, text)
  const change = (part: Partial<SettingsText>) => setText({ ...text, ...part })

  async function save(next: Inputs['settings']['set'], said: string) {
    try {
      await setting.run(next)
      felt('done')
      onSaved()
      toast.show({ text: said, icon: 'check' })
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }
  const submit = () => {
    if (changes === null) toast.show({ text: 'Correct the number of days first.', icon: 'warn' })
    else if (Object.keys(changes).length === 0) toast.show({ text: 'Nothing was changed.', icon: 'check' })
    else void save(changes, 'Settings saved')
  }
  const sourced = (name: SettingName, control: ReactNode) => (
    <View style={styles.setting}>
      {control}
      <View style={styles.source}>
        {sources[name].from !== 'default' && (
          <Text variant="small" color="textMuted">
            {sourceInWords(sources[name])}
          </Text>
        )}
        {sources[name].from === 'runtime' && (
          <Button
            variant="quiet"
            label={`Reset ${name}`}
            lock={lock}
            onPress={() => void save({ reset: [name] }, `${name} reset`)}
          />
        )}
      </View>
    </View>
  )
  const isDelicate = lock === null && !setting.isRunning && isProduction(data?.environment ?? null)
  return (
    <View style={styles.form}>
      {sourced(
        'httpEnabled',
        <Toggle
          label="API open"
          help="Off: the API serves admins only."
          isOn={text.httpEnabled}
          lock={lock}
          onChange={(httpEnabled) => change({ httpEnabled })}
        />,
      )}
      {sourced(
        'enqueueRule',
        <Rule
          label="Who may enqueue"
          rules={ENQUEUE_RULES}
          rule={text.enqueueRule}
          onChange={(enqueueRule) => change({ enqueueRule })}
        />,
      )}
      {sourced(
        'manageRule',
        <Rule
          label="Who may read and, if the role permits it, act"
          rules={MANAGE_RULES}
          rule={text.manageRule}
          onChange={(manageRule) => change({ manageRule })}
        />,
      )}
      {sourced(
        'operatorsEditPayloads',
        <Toggle
          label="Operators may edit payloads"
          help="Off: only admins requeue a job with another payload."
          isOn={text.operatorsEditPayloads}
          lock={lock}
          onChange={(operatorsEditPayloads) => change({ operatorsEditPayloads })}
        />,
      )}
      {sourced(
        'allowedTopics',
        <Field
          label="Topics that may be enqueued through the API"
          help="One per line; mail_* means all that begin with mail_. Empty: all."
          multiline
          value={text.allowedTopics}
          onChangeText={(allowedTopics) => change({ allowedTopics })}
        />,
      )}
      {sourced(
        'allowedQueues',
        <Field
          label="Queues that may be enqueued into through the API"
          help="One per line. Empty: all."
          multiline
          value={text.allowedQueues}
          onChangeText={(allowedQueues) => change({ allowedQueues })}
        />,
      )}
      {sourced(
        'payloadValidation',
        <>
          <Text variant="label">A payload that does not fit the schema of its topic</Text>
          <Segmented
            label="Payload validation"
            options={VALIDATION}
            value={text.payloadValidation}
            onChange={(payloadValidation) => change({ payloadValidation })}
          />
        </>,
      )}
      {sourced(
        'maskedKeys',
        <Field
          label="Masked keys"
          help="One per line: values under these keys are shown to admins only."
          multiline
          value={text.maskedKeys}
          onChangeText={(maskedKeys) => change({ maskedKeys })}
        />,
      )}
      {sourced(
        'deviceIdleDays',
        <Field
          label="Days without use after which a device is signed out"
          inputMode="numeric"
          value={text.deviceIdleDays}
          onChangeText={(deviceIdleDays) => change({ deviceIdleDays })}
          error={changes === null ? 'A whole number from 1 to 3,650.' : null}
        />,
      )}
      {isDelicate ? (
        <HoldButton label="Hold to save the settings" onConfirm={submit} />
      ) : (
        <Button wide variant="primary" label="Save" lock={lock} isBusy={setting.isRunning} onPress={submit} />
      )}
    </View>
  )
}

interface RuleProps {
  readonly label: string
  readonly rules: Rules
  readonly rule: AccessRule
  readonly onChange: (rule: AccessRule) => void
}

function Rule({ label, rules, rule, onChange }: RuleProps) {
  return (
    <View role="group" aria-label={label}>
      <Text variant="label">{label}</Text>
      <View style={styles.chips}>
        {rules.map(([each, words, ...same]) => (
          <Chip
            key={each}
            label={words}
            isOn={each === rule || same.includes(rule)}
            onPress={() => onChange(each)}
          />
        ))}
      </View>
    </View>
  )
}

const styles = StyleSheet.create({
  form: { paddingHorizontal: space.l, gap: space.xl, maxWidth: 720 },
  setting: { gap: space.s },
  source: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', columnGap: space.m },
  chips: { flexDirection: 'row', flexWrap: 'wrap', columnGap: space.s },
})
