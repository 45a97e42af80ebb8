import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Fact } from '../../components/ui/fact.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct, useLock, useRead } from '../../lib/api.tsx'
import { count, date } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { useSignedIn } from '../../lib/session.ts'
import { deviceList } from '../settings/queries.ts'
import type { Token } from './queries.ts'

export interface TokenSheetProps {
  readonly token: Token
  readonly onClose: () => void
}

/** One token, and the way to end it. */
export function TokenSheet({ token, onClose }: TokenSheetProps) {
  const { id, name, role, created, createdBy, expiresAt, lastUsed, allowedTopics, allowedQueues } = token
  const { me } = useSignedIn()
  const lock = useLock('admin')
  const devices = useRead(deviceList)
  const paired = devices.data?.filter(({ maker }) => maker?.id === id).length ?? 0
  const toast = useToast()
  const revoking = useAct((client, _: null) => client.tokens.revoke({ id }), {
    touches: ['tokens.list', 'devices.list'],
  })
  const revoke = async () => {
    try {
      const { devices } = await revoking.run(null)
      felt('done')
      onClose()
      toast.show({
        text: `“${name}”${devices > 0 ? ` and ${count(devices, 'device')}` : ''} revoked`,
        icon: 'check',
      })
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }
  return (
    <Sheet
      isOpen
      title={name}
      onClose={onClose}
      footer={
        lock === null ? (
          <HoldButton
            label={paired > 0 ? `Hold to revoke it and ${count(paired, 'device')}` : 'Hold to revoke it'}
            variant="danger"
            onConfirm={() => void revoke()}
          />
        ) : (
          <Button wide label="Revoke" lock={lock} onPress={() => {}} />
        )
      }
    >
      {me?.kind === 'token' && me.id === id && (
        <Text color="bad">You are signed in with this token: revoking it signs you out.</Text>
      )}
      <Fact name="Role" value={role} />
      <Fact name="Topics" value={namesInWords(allowedTopics)} />
      <Fact name="Queues" value={namesInWords(allowedQueues)} />
      <Fact name="Created" value={`${date(created)}${createdBy === null ? '' : ` by ${createdBy}`}`} />
      <Fact name="Last used" value={lastUsed ? date(lastUsed) : 'never'} />
      <Fact name="Expires" value={expiresAt ? date(expiresAt) : 'never'} />
      <Text variant="small" color="textMuted">
        Revoking ends its sessions and the devices that it paired, at once. To revoke one device, open it in
        Settings.
      </Text>
    </Sheet>
  )
}

const namesInWords = (names: readonly string[] | null) =>
  names === null ? 'all' : names.join(', ') || 'none'
