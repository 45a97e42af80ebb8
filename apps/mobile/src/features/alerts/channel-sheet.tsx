import { useState } from 'react'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Fact } from '../../components/ui/fact.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { Toggle } from '../../components/ui/toggle.tsx'
import { useAct, useLock } from '../../lib/api.tsx'
import { moment } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import type { Channel } from './queries.ts'

const TOUCHES = ['channels.list']

const RECEIVERS: Readonly<Record<Channel['kind'], string>> = {
  webhook: 'webhook',
  slack: 'slack',
  ntfy: 'ntfy',
  pagerduty: 'an incident',
  opsgenie: 'an incident',
  email: 'e-mail',
  push: 'a phone',
  web_push: 'a browser',
}

export interface ChannelSheetProps {
  readonly channel: Channel
  readonly onClose: () => void
}

/** One channel: whether deliveries succeed, a test button, on and off. */
export function ChannelSheet({ channel, onClose }: ChannelSheetProps) {
  const { id, name, kind, address, enabled, createdBy, created } = channel
  const { lastDelivered, lastError, failingSince } = channel
  const toast = useToast()
  const act = useLock()
  const admin = useLock('admin')
  const [tested, setTested] = useState<{ delivered: boolean; error: string | null } | null>(null)
  const test = useAct((client, _: null) => client.channels.test({ id }), { touches: TOUCHES })
  const turn = useAct((client, isOn: boolean) => client.channels.update({ id, enabled: isOn }), {
    touches: TOUCHES,
  })
  const remove = useAct((client, _: null) => client.channels.delete({ id }), { touches: TOUCHES })

  async function attempt(what: () => Promise<unknown>): Promise<boolean> {
    try {
      await what()
      felt('done')
      return true
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
      return false
    }
  }

  return (
    <Sheet
      isOpen
      title={name}
      onClose={onClose}
      footer={
        <>
          <Button
            wide
            label="Send a test"
            icon="alerts"
            lock={act}
            isBusy={test.isRunning}
            onPress={() => void attempt(async () => setTested(await test.run(null)))}
          />
          {admin === null && (
            <HoldButton
              label="Hold to remove this channel"
              variant="danger"
              onConfirm={() => void attempt(() => remove.run(null)).then((isDone) => isDone && onClose())}
            />
          )}
        </>
      }
    >
      {tested && (
        <Banner
          tone={tested.delivered ? 'good' : 'bad'}
          icon={tested.delivered ? 'good' : 'bad'}
          text={tested.delivered ? 'The test was delivered' : 'The test was not delivered'}
          {...(tested.error !== null && { detail: tested.error })}
        />
      )}
      <Fact name="Sends to" value={`${RECEIVERS[kind]}, ${address}`} />
      <Fact name="Last delivered" value={lastDelivered ? moment(lastDelivered) : 'never'} />
      {failingSince && (
        <Fact name="Failing since" value={`${moment(failingSince)}${lastError ? `: ${lastError}` : ''}`} />
      )}
      <Fact name="Added" value={`${moment(created)}${createdBy ? ` by ${createdBy}` : ''}`} />
      <Toggle
        label="Send alerts to this channel"
        isOn={enabled}
        lock={admin}
        onChange={(isOn) => void attempt(() => turn.run(isOn))}
      />
    </Sheet>
  )
}
