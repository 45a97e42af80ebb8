import { View } from 'react-native'
import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useObservable } from '../../lib/observable.ts'
import { useSession } from '../../lib/session.ts'

/** The servers that this device is already connected to. */
export function KnownServers() {
  const session = useSession()
  const { servers } = useObservable(session.servers)
  if (servers.length === 0) return null
  return (
    <View>
      <Text variant="heading" level={2}>
        Your servers
      </Text>
      {servers.map(({ id, name, url }) => (
        <Row
          key={id}
          label={`Open ${name}`}
          leading={<Icon name="server" color="textMuted" />}
          onPress={() => void session.choose(id)}
        >
          <Text>{name}</Text>
          <Text variant="small" color="textMuted">
            {url}
          </Text>
        </Row>
      ))}
    </View>
  )
}
