import { useState } from 'react'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useCopy } from '../../components/ui/use-copy.ts'
import { useAct, useLock } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { felt } from '../../lib/haptics.ts'
import type { CreatedToken } from './queries.ts'
import { type Role, readToken, type TokenText } from './token-form.ts'

const ROLES = [
  { value: 'producer', label: 'Producer' },
  { value: 'viewer', label: 'Viewer' },
  { value: 'operator', label: 'Operator' },
  { value: 'admin', label: 'Admin' },
] as const

const MAY: Readonly<Record<Role, string>> = {
  producer: 'Can enqueue jobs, and nothing else.',
  viewer: 'Can view everything and change nothing.',
  operator: 'Can enqueue, retry, cancel, pause and acknowledge.',
  admin: 'Can do everything, including rules, tokens and settings.',
}

/** A token for a service or a person. Its secret is shown once. */
export function NewTokenSheet({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState<TokenText>({
    name: '',
    role: 'producer',
    topics: '',
    queues: '',
    days: '',
  })
  const [wasTried, setTried] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const [created, setCreated] = useState<CreatedToken | null>(null)
  const lock = useLock('admin')
  const creating = useAct(
    (client, token: Parameters<typeof client.tokens.create>[0]) => client.tokens.create(token),
    { touches: ['tokens.list'] },
  )
  const checked = readToken(text, serverNow())
  const errors = wasTried && !checked.ok ? checked.errors : {}
  const create = async () => {
    setTried(true)
    if (!checked.ok) return
    try {
      setCreated(await creating.run(checked.token))
      felt('done')
    } catch (error) {
      felt('refused')
      setProblem(describeProblem(error).text)
    }
  }
  if (created) return <Secret token={created} onClose={onClose} />
  const field = (name: Exclude<keyof TokenText, 'role'>) => ({
    value: text[name],
    onChangeText: (value: string) => setText({ ...text, [name]: value }),
    error: errors[name] ?? null,
  })
  return (
    <Sheet
      isOpen
      title="New token"
      onClose={onClose}
      footer={
        <Button
          wide
          variant="primary"
          label="Create"
          lock={lock}
          isBusy={creating.isRunning}
          onPress={() => void create()}
        />
      }
    >
      <Field
        label="Name"
        placeholder="shop-api"
        help="Who or what uses it."
        maxLength={100}
        {...field('name')}
      />
      <Segmented
        label="Role"
        options={ROLES}
        value={text.role}
        onChange={(role) => setText({ ...text, role })}
      />
      <Text variant="small" color="textMuted">
        {MAY[text.role]}
      </Text>
      <Field
        label="Topics it may enqueue"
        placeholder="all topics"
        help="One per line; mail_* means all that begin with mail_."
        multiline
        {...field('topics')}
      />
      <Field label="Queues it may enqueue into" placeholder="all queues" multiline {...field('queues')} />
      <Field label="Expires after (days)" placeholder="never" inputMode="numeric" {...field('days')} />
      {problem !== null && (
        <Text color="bad" role="alert">
          {problem}
        </Text>
      )}
    </Sheet>
  )
}

function Secret({ token, onClose }: { readonly token: CreatedToken; readonly onClose: () => void }) {
  const copy = useCopy()
  return (
    <Sheet
      isOpen
      title={`Token “${token.name}”`}
      onClose={onClose}
      footer={
        <>
          <Button
            wide
            variant="primary"
            icon="copy"
            label="Copy the secret"
            onPress={() => void copy(token.secret)}
          />
          <Button wide label="Done" onPress={onClose} />
        </>
      }
    >
      <Banner
        tone="warn"
        icon="warn"
        text="Copy it now"
        detail="The secret is not stored and not shown again."
      />
      <Text variant="code" selectable>
        {token.secret}
      </Text>
    </Sheet>
  )
}
