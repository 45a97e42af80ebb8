import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Chip } from '../../components/ui/chip.tsx'
import { CopyButton } from '../../components/ui/copy-button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useAct } from '../../lib/api.tsx'
import { felt } from '../../lib/haptics.ts'
import { space } from '../../theme/tokens.ts'
import type { NewChannel } from './queries.ts'

const KINDS = [
  { value: 'webhook', label: 'Webhook' },
  { value: 'slack', label: 'Slack' },
  { value: 'pagerduty', label: 'PagerDuty' },
  { value: 'opsgenie', label: 'Opsgenie' },
  { value: 'email', label: 'E-mail' },
  { value: 'ntfy', label: 'ntfy' },
] as const

type Kind = (typeof KINDS)[number]['value']

/** As ntfy names them. */
const PRIORITIES = [
  { value: '1', label: 'Min' },
  { value: '2', label: 'Low' },
  { value: '3', label: 'Default' },
  { value: '4', label: 'High' },
  { value: '5', label: 'Urgent' },
] as const

interface Ntfy {
  readonly token: string
  readonly priority: (typeof PRIORITIES)[number]['value']
}

/** What each kind asks for: where to, or with which key. */
const TARGETS: Readonly<Record<Kind, { label: string; placeholder: string; like: RegExp; problem: string }>> =
  {
    webhook: ofUrl('https://example.com/oncue'),
    slack: ofUrl('https://hooks.slack.com/…'),
    ntfy: { ...ofUrl('https://ntfy.sh/my-topic'), like: /^https?:\/\/[^/]+\/.*[\w-]$/i },
    pagerduty: ofKey('Integration key', 'of an Events API v2 integration'),
    opsgenie: ofKey('API key', 'of an API integration'),
    email: {
      label: 'E-mail address',
      placeholder: 'on-call@example.com',
      like: /^[^@\s]+@[^@\s]+$/,
      problem: 'Enter an e-mail address',
    },
  }

function ofUrl(placeholder: string) {
  const problem = 'Enter an address that begins with https://'
  return { label: 'Address', placeholder, like: /^https?:\/\/./i, problem }
}

function ofKey(label: string, placeholder: string) {
  return { label, placeholder, like: /^[\w-]{8,}$/, problem: 'Enter the key that the service shows' }
}

function requestOf(kind: Kind, name: string, target: string, ntfy: Ntfy): NewChannel {
  if (kind === 'pagerduty' || kind === 'opsgenie') return { kind, name, key: target }
  if (kind === 'email') return { kind, name, to: target }
  if (kind === 'ntfy') {
    const { token, priority } = ntfy
    return { kind, name, url: target, priority: Number(priority), ...(token !== '' && { token }) }
  }
  return { kind, name, url: target }
}

/** Adds a channel. Its signing secret is shown once, here. */
export function NewChannelSheet({ onClose }: { readonly onClose: () => void }) {
  const [kind, setKind] = useState<Kind>('webhook')
  const [name, setName] = useState('')
  const [target, setTarget] = useState('')
  const [ntfy, setNtfy] = useState<Ntfy>({ token: '', priority: '4' })
  const [isAsked, setAsked] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const add = useAct(
    (client, _: null) =>
      client.channels.create(
        requestOf(kind, name.trim(), target.trim(), { ...ntfy, token: ntfy.token.trim() }),
      ),
    { touches: ['channels.list'] },
  )
  const asks = TARGETS[kind]
  const isTarget = asks.like.test(target.trim())

  async function submit() {
    setAsked(true)
    setProblem(null)
    if (name.trim() === '' || !isTarget) return
    try {
      const created = await add.run(null)
      felt('done')
      if (created.secret === null) onClose()
      else setSecret(created.secret)
    } catch (error) {
      felt('refused')
      setProblem(describeProblem(error).text)
    }
  }

  if (secret !== null)
    return (
      <Sheet
        isOpen
        title={`${name.trim()} added`}
        onClose={onClose}
        footer={<Button wide variant="primary" label="I saved it" onPress={onClose} />}
      >
        <Text>Deliveries are signed with this secret. It is shown only once.</Text>
        <Text variant="code" selectable>
          {secret}
        </Text>
        <CopyButton label="Copy the secret" text={secret} />
      </Sheet>
    )
  return (
    <Sheet
      isOpen
      title="New channel"
      onClose={onClose}
      footer={
        <Button wide variant="primary" label="Add" isBusy={add.isRunning} onPress={() => void submit()} />
      }
    >
      {problem !== null && <Banner tone="bad" icon="bad" text="Could not add the channel" detail={problem} />}
      <View style={styles.kinds} role="group" aria-label="Kind of channel">
        {KINDS.map(({ value, label }) => (
          <Chip key={value} label={label} isOn={value === kind} onPress={() => setKind(value)} />
        ))}
      </View>
      <Field
        label="Name"
        placeholder="pager"
        value={name}
        onChangeText={setName}
        maxLength={100}
        error={isAsked && name.trim() === '' ? 'Enter a name' : null}
      />
      <Field
        label={asks.label}
        placeholder={asks.placeholder}
        value={target}
        onChangeText={setTarget}
        inputMode={kind === 'email' ? 'email' : 'url'}
        error={isAsked && !isTarget ? asks.problem : null}
      />
      {kind === 'ntfy' && (
        <>
          <Text variant="label">Priority of firing alerts</Text>
          <Segmented
            label="Priority of firing alerts"
            options={PRIORITIES}
            value={ntfy.priority}
            onChange={(priority) => setNtfy({ ...ntfy, priority })}
          />
          <Field
            label="Access token"
            placeholder="only for a protected topic"
            value={ntfy.token}
            onChangeText={(token) => setNtfy({ ...ntfy, token })}
            isCode
          />
        </>
      )}
    </Sheet>
  )
}

const styles = StyleSheet.create({ kinds: { flexDirection: 'row', flexWrap: 'wrap', columnGap: space.s } })
