import { useState } from 'react'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { CopyButton } from '../../components/ui/copy-button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useAct } from '../../lib/api.tsx'
import { felt } from '../../lib/haptics.ts'

const KINDS = [
  { value: 'webhook', label: 'Webhook' },
  { value: 'slack', label: 'Slack' },
] as const

/** Where alerts are to be sent as well. What signs them is shown once, here. */
export function NewChannelSheet({ onClose }: { readonly onClose: () => void }) {
  const [kind, setKind] = useState<'webhook' | 'slack'>('webhook')
  const [name, setName] = useState('')
  const [url, setUrl] = useState('')
  const [isAsked, setAsked] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const add = useAct(
    (client, _: null) => client.channels.create({ kind, name: name.trim(), url: url.trim() }),
    { touches: ['channels.list'] },
  )
  const isUrl = /^https?:\/\/./i.test(url.trim())

  async function submit() {
    setAsked(true)
    setProblem(null)
    if (name.trim() === '' || !isUrl) return
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
      <Segmented label="Kind of channel" options={KINDS} value={kind} onChange={setKind} />
      <Field
        label="Name"
        placeholder="pager"
        value={name}
        onChangeText={setName}
        maxLength={100}
        error={isAsked && name.trim() === '' ? 'Enter a name' : null}
      />
      <Field
        label="Address"
        placeholder={kind === 'slack' ? 'https://hooks.slack.com/…' : 'https://example.com/oncue'}
        value={url}
        onChangeText={setUrl}
        inputMode="url"
        error={isAsked && !isUrl ? 'Enter an address that begins with https://' : null}
      />
    </Sheet>
  )
}
