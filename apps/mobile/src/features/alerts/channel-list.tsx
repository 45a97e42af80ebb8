import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { ReadState } from '../../components/shell/read-state.tsx'
import { Badge } from '../../components/ui/badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Icon, type IconName } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useLock, useRead } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { age, ago } from '../../lib/format.ts'
import { space } from '../../theme/tokens.ts'
import { ChannelSheet } from './channel-sheet.tsx'
import { NewChannelSheet } from './new-channel-sheet.tsx'
import { type Channel, channelList } from './queries.ts'

const ICONS: Readonly<Record<Channel['kind'], IconName>> = {
  webhook: 'server',
  slack: 'activity',
  ntfy: 'alerts',
  pagerduty: 'late',
  opsgenie: 'late',
  email: 'open',
  push: 'device',
  web_push: 'now',
}

/** Where alerts are sent, and whether they arrive: a channel that fails silently is worse than none. */
export function ChannelList() {
  const read = useRead(channelList)
  const lock = useLock('admin')
  const [openId, setOpenId] = useState<string | null>(null)
  const [isAdding, setAdding] = useState(false)
  const opened = read.data?.find(({ id }) => id === openId)
  const add = [
    <Button key="add" label="Add a channel" icon="plus" lock={lock} onPress={() => setAdding(true)} />,
    lock !== null && (
      <Text key="lock" variant="small" color="textMuted">
        {lock}
      </Text>
    ),
  ]
  return (
    <>
      <ReadState
        read={read}
        isEmpty={(channels) => channels.length === 0}
        empty={{
          icon: 'snooze',
          title: 'No channels yet',
          text: 'Alerts appear only in the app. Add a channel, or turn on notifications on a paired phone.',
          children: add,
        }}
      >
        {(channels) =>
          channels.map((channel) => (
            <ChannelRow key={channel.id} channel={channel} onPress={() => setOpenId(channel.id)} />
          ))
        }
      </ReadState>
      {(read.data?.length ?? 0) > 0 && <View style={styles.foot}>{add}</View>}
      {opened && <ChannelSheet channel={opened} onClose={() => setOpenId(null)} />}
      {isAdding && <NewChannelSheet onClose={() => setAdding(false)} />}
    </>
  )
}

function ChannelRow({ channel, onPress }: { readonly channel: Channel; readonly onPress: () => void }) {
  const { kind, name, address, enabled, failingSince } = channel
  const words = deliveryOf(channel)
  const badge = !enabled ? <Badge label="Off" /> : failingSince && <Badge label="Failing" tone="bad" />
  return (
    <Row
      label={`${kind} ${name}, ${enabled ? 'on' : 'off'}. ${words}`}
      leading={<Icon name={ICONS[kind]} color="textMuted" />}
      trailing={badge}
      onPress={onPress}
    >
      <Text variant="heading" color={enabled ? 'text' : 'textMuted'}>
        {name}
      </Text>
      <Text variant="small" color="textMuted">
        {address}
      </Text>
      <Text variant="small" color={enabled && failingSince ? 'bad' : 'textMuted'}>
        {words}
      </Text>
    </Row>
  )
}

/** "Last delivered 4 min ago", "Failing for 2 h: …". */
function deliveryOf({ lastDelivered, failingSince, lastError }: Channel): string {
  const now = serverNow()
  const last = lastDelivered ? `last delivered ${ago(lastDelivered, now)}` : 'nothing delivered yet'
  if (!failingSince) return last.charAt(0).toUpperCase() + last.slice(1)
  return `Failing for ${age(failingSince, now)}${lastError ? `: ${lastError}` : ''}; ${last}`
}

const styles = StyleSheet.create({ foot: { padding: space.l, gap: space.s } })
