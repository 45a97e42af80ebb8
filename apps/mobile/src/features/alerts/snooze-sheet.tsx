import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { serverNow } from '../../lib/clock.ts'
import { snoozeChoices } from './words.ts'

export interface SnoozeSheetProps {
  readonly onChoose: (until: Date) => void
  readonly onClose: () => void
}

export function SnoozeSheet({ onChoose, onClose }: SnoozeSheetProps) {
  return (
    <Sheet isOpen title="Snooze" onClose={onClose}>
      <Text color="textMuted">
        No notifications until then. If the alert is still firing, everyone is notified again.
      </Text>
      {snoozeChoices(serverNow()).map(({ label, until, when }) => (
        <Row
          key={label}
          label={`Snooze: ${label}`}
          leading={<Icon name="snooze" color="textMuted" />}
          trailing={
            <Text variant="label" color="textMuted">
              {when}
            </Text>
          }
          onPress={() => {
            onClose()
            onChoose(until)
          }}
        >
          <Text>{label}</Text>
        </Row>
      ))}
    </Sheet>
  )
}
