import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Badge } from '../../components/ui/badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { ago } from '../../lib/format.ts'
import { useSignedIn } from '../../lib/session.ts'
import { space } from '../../theme/tokens.ts'
import { DeviceSheet } from './device-sheet.tsx'
import { PairingSheet } from './pairing-sheet.tsx'
import { type Device, deviceList } from './queries.ts'
import { Section } from './section.tsx'

/** Every paired phone and browser. Operators see them too, so that a lost one can be revoked quickly. */
export function Devices() {
  const { me } = useSignedIn()
  const lock = useLock()
  const queries = useQueryClient()
  const [isPairing, setPairing] = useState(false)
  const donePairing = () => {
    setPairing(false)
    // The list may have a new device now.
    void queries.invalidateQueries({ queryKey: deviceList.key })
  }
  const isAllowed = !me || me.may.includes('act')
  return (
    <Section title="Paired devices" isList>
      {isAllowed ? (
        <DeviceList />
      ) : (
        <Text color="textMuted" style={styles.locked}>
          Only operators and admins see the list of devices.
        </Text>
      )}
      <View style={styles.foot}>
        <Button label="Pair a device" icon="qr" lock={lock} onPress={() => setPairing(true)} />
      </View>
      {isPairing && <PairingSheet onClose={donePairing} />}
    </Section>
  )
}

function DeviceList() {
  const read = useRead(deviceList)
  const [openId, setOpenId] = useState<string | null>(null)
  const opened = read.data?.find(({ id }) => id === openId)
  return (
    <>
      <ReadState
        read={read}
        isEmpty={(devices) => devices.length === 0}
        empty={{ icon: 'device', title: 'None yet', text: 'Pair a phone to get alerts on it.' }}
      >
        {(devices) =>
          devices.map((device) => (
            <DeviceRow key={device.id} device={device} onPress={() => setOpenId(device.id)} />
          ))
        }
      </ReadState>
      {opened && read.data && (
        <DeviceSheet device={opened} devices={read.data} onClose={() => setOpenId(null)} />
      )}
    </>
  )
}

function DeviceRow({ device, onPress }: { readonly device: Device; readonly onPress: () => void }) {
  const { name, role, lastUsed, isThis, push } = device
  const used = lastUsed ? `used ${ago(lastUsed, serverNow())}` : 'never used'
  const told = push
    ? push.failingSince
      ? 'notifications failing'
      : 'gets notifications'
    : 'no notifications'
  return (
    <Row
      label={`${name}${isThis ? ', this device' : ''}, ${role}, ${used}, ${told}`}
      leading={<Icon name="device" color="textMuted" />}
      trailing={
        isThis ? (
          <Badge label="This device" tone="accent" />
        ) : (
          push?.failingSince && <Badge label="Push failing" tone="bad" />
        )
      }
      onPress={onPress}
    >
      <Text>{name}</Text>
      <Text variant="small" color="textMuted">
        {`${role} · ${used} · ${told}`}
      </Text>
    </Row>
  )
}

const styles = StyleSheet.create({
  foot: { padding: space.l },
  locked: { paddingHorizontal: space.l, paddingTop: space.l },
})
