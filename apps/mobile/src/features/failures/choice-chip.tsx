import { useState } from 'react'
import { Chip } from '../../components/ui/chip.tsx'
import { Icon } from '../../components/ui/icon.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'

export interface ChoiceChipProps {
  /** "Queue". */
  readonly label: string
  readonly options: readonly string[]
  readonly value: string | undefined
  readonly onChange: (value: string | undefined) => void
}

/** A filter by one of several names. Once chosen, a press removes it. */
export function ChoiceChip({ label, options, value, onChange }: ChoiceChipProps) {
  const [isOpen, setOpen] = useState(false)
  if (value !== undefined)
    return <Chip label={`${label}: ${value}`} isOn isRemovable onPress={() => onChange(undefined)} />
  return (
    <>
      <Chip label={label} icon="filter" onPress={() => setOpen(true)} />
      <Sheet isOpen={isOpen} title={label} onClose={() => setOpen(false)}>
        {options.length === 0 && <Text color="textMuted">Nothing to choose from.</Text>}
        {options.map((option) => (
          <Row
            key={option}
            label={option}
            onPress={() => {
              setOpen(false)
              onChange(option)
            }}
            leading={<Icon name={label === 'Queue' ? 'queues' : 'jobs'} color="textMuted" />}
          >
            <Text>{option}</Text>
          </Row>
        ))}
      </Sheet>
    </>
  )
}
