import { useRouter } from 'expo-router'
import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { Badge } from '../../components/ui/badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { useObservable } from '../../lib/observable.ts'
import type { Server } from '../../lib/servers.ts'
import { useSession, useSignedIn } from '../../lib/session.ts'
import { space } from '../../theme/tokens.ts'
import { leave } from '../notifications/push.ts'
import { Section } from './section.tsx'
import { stillListedIn } from './words.ts'

/** The servers that this phone is connected to. A browser has one: the server of the page. */
export function Servers() {
  const router = useRouter()
  const session = useSession()
  const { server: current } = useSignedIn()
  const { servers } = useObservable(session.servers)
  const [opened, setOpened] = useState<Server | null>(null)
  return (
    <Section title="Servers" isList>
      {servers.map((server) => {
        const isCurrent = server.id === current.id
        return (
          <Row
            key={server.id}
            label={`${server.name}${isCurrent ? ', in use' : ''}`}
            leading={<Icon name="server" color="textMuted" />}
            trailing={isCurrent && <Badge label="In use" tone="accent" />}
            onPress={() => setOpened(server)}
          >
            <Text>{server.name}</Text>
            <Text variant="small" color="textMuted">
              {server.url}
            </Text>
          </Row>
        )
      })}
      <View style={styles.foot}>
        <Button label="Add a server" icon="plus" onPress={() => router.push('/sign-in')} />
      </View>
      {opened && (
        <ServerSheet server={opened} isCurrent={opened.id === current.id} onClose={() => setOpened(null)} />
      )}
    </Section>
  )
}

interface ServerSheetProps {
  readonly server: Server
  readonly isCurrent: boolean
  readonly onClose: () => void
}

function ServerSheet({ server, isCurrent, onClose }: ServerSheetProps) {
  const session = useSession()
  const toast = useToast()
  const [isBusy, setBusy] = useState(false)
  const remove = async () => {
    setBusy(true)
    await leave(server)
    const { isStillListed } = await session.signOut(server.id)
    onClose()
    if (isStillListed) toast.show({ text: stillListedIn(server), icon: 'warn' })
  }
  return (
    <Sheet
      isOpen
      title={server.name}
      onClose={onClose}
      footer={
        <>
          {!isCurrent && (
            <Button
              wide
              variant="primary"
              label="Use this server"
              onPress={() => {
                onClose()
                void session.choose(server.id)
              }}
            />
          )}
          <Button
            wide
            variant="danger"
            icon="remove"
            label="Remove from this phone"
            isBusy={isBusy}
            onPress={() => void remove()}
          />
        </>
      }
    >
      <Text color="textMuted">{server.url}</Text>
      <Text>
        Removing the server signs this device out, deletes its token here, and stops its notifications.
      </Text>
    </Sheet>
  )
}

const styles = StyleSheet.create({ foot: { padding: space.l } })
