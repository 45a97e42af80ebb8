import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { serverNow } from '../../lib/clock.ts'
import { timeOfDay } from '../../lib/format.ts'

const CHOICES = [
  { label: 'Until resumed', seconds: null },
  { label: '15 minutes', seconds: 15 * 60 },
  { label: '1 hour', seconds: 60 * 60 },
  { label: '4 hours', seconds: 4 * 60 * 60 },
] as const

export interface PauseSheetProps {
  readonly queue: string
  /** Null: until it is resumed. */
  readonly onChoose: (forSeconds: number | null) => void
  readonly onClose: () => void
}

/** For how long: a pause that ends by itself cannot be forgotten. */
export function PauseSheet({ queue, onChoose, onClose }: PauseSheetProps) {
  const now = serverNow()
  return (
    <Sheet isOpen title={`Pause “${queue}”`} onClose={onClose}>
      <Text color="textMuted">Running jobs finish; no new ones start.</Text>
      {CHOICES.map(({ label, seconds }) => (
        <Row
          key={label}
          label={`Pause: ${label}`}
          leading={<Icon name="pause" color="textMuted" />}
          trailing={
            seconds !== null && (
              <Text variant="label" color="textMuted">
                {timeOfDay(new Date(now + seconds * 1_000))}
              </Text>
            )
          }
          onPress={() => {
            onClose()
            onChoose(seconds)
          }}
        >
          <Text>{label}</Text>
        </Row>
      ))}
    </Sheet>
  )
}
