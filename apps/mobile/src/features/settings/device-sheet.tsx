import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Fact } from '../../components/ui/fact.tsx'
import { Field } from '../../components/ui/field.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct, useLock } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { count, momentWithYear } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import type { Me } from '../../lib/probe.ts'
import { useSignedIn } from '../../lib/session.ts'
import { space } from '../../theme/tokens.ts'
import { useTheme } from '../../theme/use-theme.ts'
import type { Device } from './queries.ts'

const TOUCHES = ['devices.list']

export interface DeviceSheetProps {
  readonly device: Device
  /** All devices: some of them end with the same token. */
  readonly devices: readonly Device[]
  readonly onClose: () => void
}

/** One device: its name, whether notifications reach it, and how to revoke it. */
export function DeviceSheet({ device, devices, onClose }: DeviceSheetProps) {
  const { id, role, created, createdBy, maker, lastUsed, isThis, push } = device
  const toast = useToast()
  const { colors } = useTheme()
  // Only an admin may change a device with the admin role.
  const lock = useLock(role === 'admin' ? 'admin' : 'act')
  const tokenLock = useLock('admin')
  const { me } = useSignedIn()
  const [name, setName] = useState(device.name)
  const rename = useAct((client, next: string) => client.devices.rename({ id, name: next }), {
    touches: TOUCHES,
  })
  const revoke = useAct((client, _: null) => client.devices.revoke({ id }), { touches: TOUCHES })
  const revokeToken = useAct((client, tokenId: string) => client.tokens.revoke({ id: tokenId }), {
    touches: TOUCHES,
  })
  const mayRevokeToken = maker?.kind === 'token' && tokenLock === null
  const ownEnd = maker && ownEndInWords(me, maker.id, devices)
  const isRenamed = name.trim() !== '' && name.trim() !== device.name

  async function done<Answer>(what: () => Promise<Answer>, text: string | ((answer: Answer) => string)) {
    try {
      const answer = await what()
      felt('done')
      onClose()
      toast.show({ text: typeof text === 'string' ? text : text(answer), icon: 'check' })
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }

  return (
    <Sheet
      isOpen
      title={device.name}
      onClose={onClose}
      footer={
        <>
          {isRenamed && (
            <Button
              wide
              variant="primary"
              label="Save the name"
              lock={lock}
              isBusy={rename.isRunning}
              onPress={() => void done(() => rename.run(name.trim()), `Renamed to ${name.trim()}`)}
            />
          )}
          {lock === null ? (
            <HoldButton
              label={isThis ? 'Hold to revoke this device' : `Hold to revoke the device “${device.name}”`}
              variant="danger"
              onConfirm={() => void done(() => revoke.run(null), `“${device.name}” revoked`)}
            />
          ) : (
            <Button wide label="Revoke" lock={lock} onPress={() => {}} />
          )}
        </>
      }
    >
      <Field
        label="Name"
        value={name}
        onChangeText={setName}
        maxLength={100}
        editable={lock === null}
        error={name.trim() === '' ? 'Enter a name' : null}
        {...(lock !== null && { help: lock })}
      />
      <Fact name="Role" value={role} />
      <Fact name="Paired" value={`${moment(created)}${createdBy ? ` by ${createdBy}` : ''}`} />
      {maker && <Fact name="Depends on" value={`the ${maker.kind} “${maker.name}”`} />}
      <Fact name="Last used" value={lastUsed ? moment(lastUsed) : 'never'} />
      <Fact name="Expires" value={endInWords(device)} />
      <Fact name="Notifications" value={pushInWords(push)} />
      <Text variant="small" color="textMuted">
        {isThis
          ? 'Revoking signs it out at once; it must be paired again. You are using this device.'
          : 'Revoking signs it out at once; it must be paired again. Its activity is kept.'}
        {mayRevokeToken && ' The token that it depends on can be revoked below.'}
      </Text>
      {mayRevokeToken && (
        <View
          role="group"
          aria-label={`The token ${maker.name}`}
          style={[styles.token, { borderTopColor: colors.line }]}
        >
          {ownEnd !== null && <Text color="bad">{ownEnd}</Text>}
          <HoldButton
            label={`Hold to revoke the token “${maker.name}” and its devices`}
            variant="danger"
            onConfirm={() =>
              void done(
                () => revokeToken.run(maker.id),
                (ended) => `The token “${maker.name}” and ${count(ended.devices, 'device')} revoked`,
              )
            }
          />
        </View>
      )}
    </Sheet>
  )
}

/** What revoking a token does to the current session. Null: nothing. */
function ownEndInWords(me: Me | null, tokenId: string, devices: readonly Device[]): string | null {
  const ended = devicesOf(tokenId, devices)
  const ends = `you will be signed out. Revokes ${count(ended.length, 'device')}.`
  // The subject of a JWT or the id of a host's person may be any text, so it must not be compared with ids.
  if (!me || me.kind === 'jwt' || me.kind === 'host') return null
  if (me.id === tokenId) return `You are signed in with this token: ${ends}`
  return ended.some(({ id }) => id === me.id)
    ? `You are signed in with a device of this token: ${ends}`
    : null
}

/** Devices that a token or device has paired, directly or through other devices. */
function devicesOf(makerId: string, devices: readonly Device[]): readonly Device[] {
  const own = devices.filter(({ maker }) => maker?.id === makerId)
  return own.flatMap((device) => [device, ...devicesOf(device.id, devices)])
}

/** When the device ends by itself, whichever comes first. */
function endInWords({ expiresAt, idleUntil }: Device): string {
  if (expiresAt && (!idleUntil || expiresAt <= idleUntil)) return moment(expiresAt)
  return idleUntil ? `${moment(idleUntil)}, unless it is used before then` : 'when it is revoked'
}

/** A device lives for months: its dates may be of another year. */
const moment = (at: Date) => momentWithYear(at, serverNow())

function pushInWords(push: Device['push']): string {
  if (!push) return 'off'
  if (push.failingSince)
    return `failing since ${moment(push.failingSince)}${push.lastError ? `: ${push.lastError}` : ''}`
  return push.lastDelivered ? `on, last delivered ${moment(push.lastDelivered)}` : 'on, none sent yet'
}

const styles = StyleSheet.create({
  // Below what is told of the device, where it hides nothing of that. A line and room: what is said here is about the token alone.
  token: {
    gap: space.s,
    marginTop: space.l,
    paddingTop: space.l,
    borderTopWidth: StyleSheet.hairlineWidth,
  },
})
