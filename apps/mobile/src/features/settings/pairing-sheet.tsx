import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Banner } from '../../components/ui/banner.tsx'
import { Button } from '../../components/ui/button.tsx'
import { CopyButton } from '../../components/ui/copy-button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { hostOf, isLoopback } from '../../lib/address.ts'
import { useAct } from '../../lib/api.tsx'
import { useServerNow } from '../../lib/clock.ts'
import { duration } from '../../lib/format.ts'
import { useSignedIn } from '../../lib/session.ts'
import { space } from '../../theme/tokens.ts'
import { QrCode } from './qr-code.tsx'
import type { Pairing } from './queries.ts'

const ROLES = [
  { value: 'viewer', label: 'Viewer' },
  { value: 'operator', label: 'Operator' },
  { value: 'admin', label: 'Admin' },
] as const

type Role = (typeof ROLES)[number]['value']

const MAY: Readonly<Record<Role, string>> = {
  viewer: 'Can view everything and change nothing.',
  operator: 'Can retry, cancel, pause and acknowledge.',
  admin: 'Can do everything, including rules, tokens and settings.',
}

/** A code for one device, drawn for its camera. */
export function PairingSheet({ onClose }: { readonly onClose: () => void }) {
  const mine = useSignedIn().me?.role
  const roles = ROLES.slice(0, ROLES.findIndex(({ value }) => value === mine) + 1 || 2)
  const [role, setRole] = useState<Role>(
    roles.some(({ value }) => value === 'operator') ? 'operator' : 'viewer',
  )
  const [pairing, setPairing] = useState<Pairing | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const make = useAct((client, asked: Role) => client.pairings.create({ role: asked }))

  async function begin() {
    setProblem(null)
    try {
      setPairing(await make.run(role))
    } catch (error) {
      setProblem(describeProblem(error).text)
    }
  }

  if (pairing)
    return (
      <Sheet
        isOpen
        title="Scan this with the other device"
        onClose={onClose}
        footer={<Button wide label="Create another code" icon="refresh" onPress={() => setPairing(null)} />}
      >
        <Shown pairing={pairing} />
      </Sheet>
    )
  return (
    <Sheet
      isOpen
      title="Pair a device"
      onClose={onClose}
      footer={
        <Button
          wide
          variant="primary"
          icon="qr"
          label="Create a code"
          isBusy={make.isRunning}
          onPress={() => void begin()}
        />
      }
    >
      {problem !== null && <Banner tone="bad" icon="bad" text="Could not create a code" detail={problem} />}
      <Text>Role of this device (no higher than yours)</Text>
      <Segmented label="Role" options={roles} value={role} onChange={setRole} />
      <Text variant="small" color="textMuted">
        {MAY[role]}
      </Text>
    </Sheet>
  )
}

function Shown({ pairing: { url, code, role, expiresAt } }: { readonly pairing: Pairing }) {
  const left = expiresAt.getTime() - useServerNow()
  if (left < 1_000)
    return (
      <Banner
        tone="warn"
        icon="late"
        text="This code has expired"
        detail="A code is valid for a few minutes and one device. Create another."
      />
    )
  return (
    <>
      {isLoopback(url) && (
        <Banner
          tone="warn"
          icon="warn"
          text="Another device cannot open this link"
          detail={`${hostOf(url)} means the device that opens it. Open Oncue at this machine’s address in your network, or set ONCUE_PUBLIC_URL, and create another code.`}
        />
      )}
      <QrCode text={url} label="Pairing code to scan with the other device" />
      <View style={styles.code}>
        <Text variant="title" selectable style={styles.letters}>
          {code}
        </Text>
        <CopyButton label="Copy the link" text={url} />
      </View>
      <Text color="textMuted" center>
        {`For one device, as ${role}. Valid for ${duration(Math.floor(left / 1_000) * 1_000)}.`}
      </Text>
      <Text variant="small" color="textMuted" center>
        In the app: Connect, then Scan, or type the code. In a browser: open the copied link.
      </Text>
    </>
  )
}

const styles = StyleSheet.create({
  code: { flexDirection: 'row', alignItems: 'center', justifyContent: 'center', gap: space.s },
  letters: { flexShrink: 1, letterSpacing: 1 },
})
