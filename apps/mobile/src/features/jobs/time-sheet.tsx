import { useState } from 'react'
import { Button } from '../../components/ui/button.tsx'
import { Field } from '../../components/ui/field.tsx'
import { Row } from '../../components/ui/row.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { serverNow } from '../../lib/clock.ts'
import { zoneName } from '../../lib/time-zone.ts'
import { readTime, writeTime } from './time-text.ts'

const HOUR_MS = 3_600_000
const TIMES = [
  { label: 'The last 15 minutes', ms: HOUR_MS / 4 },
  { label: 'The last hour', ms: HOUR_MS },
  { label: 'The last 24 hours', ms: 24 * HOUR_MS },
  { label: 'The last 7 days', ms: 7 * 24 * HOUR_MS },
]

export interface TimeRange {
  readonly createdFrom: Date | undefined
  readonly createdTo: Date | undefined
}

export interface TimeSheetProps extends TimeRange {
  readonly onChange: (range: TimeRange) => void
  readonly onClose: () => void
}

/** From when to when. These are moments from then on: a link to them shows the same to everyone. */
export function TimeSheet({ createdFrom, createdTo, onChange, onClose }: TimeSheetProps) {
  const [texts, setTexts] = useState({ from: writeTime(createdFrom), to: writeTime(createdTo) })
  const [errors, setErrors] = useState<{ readonly from: string | null; readonly to: string | null }>(NONE)
  const choose = (range: TimeRange) => {
    onClose()
    onChange(range)
  }
  const apply = () => {
    const [from, to] = [readTime(texts.from), readTime(texts.to)]
    const isBackwards = from && to && from.getTime() >= to.getTime()
    const found = {
      from: from === null ? HOW : null,
      to: to === null ? HOW : isBackwards ? 'It must be later than From.' : null,
    }
    setErrors(found)
    if (found.from === null && found.to === null && from !== null && to !== null)
      choose({ createdFrom: from, createdTo: to })
  }
  return (
    <Sheet
      isOpen
      title="Created"
      onClose={onClose}
      footer={<Button label="Apply" variant="primary" wide onPress={apply} />}
    >
      <Text variant="small" color="textMuted">
        {`Times are in ${zoneName()}.`}
      </Text>
      <Field
        label="From"
        placeholder="2026-11-18 03:12"
        value={texts.from}
        error={errors.from}
        onChangeText={(from) => setTexts({ ...texts, from })}
        onSubmitEditing={apply}
      />
      <Field
        label="To"
        placeholder="2026-11-18 04:00"
        value={texts.to}
        error={errors.to}
        help="Either may be left empty."
        onChangeText={(to) => setTexts({ ...texts, to })}
        onSubmitEditing={apply}
      />
      {TIMES.map((time) => (
        <Row
          key={time.label}
          label={time.label}
          onPress={() => choose({ createdFrom: new Date(serverNow() - time.ms), createdTo: undefined })}
        >
          <Text>{time.label}</Text>
        </Row>
      ))}
    </Sheet>
  )
}

const NONE = { from: null, to: null }
const HOW = 'Write it like 2026-11-18 03:12.'
