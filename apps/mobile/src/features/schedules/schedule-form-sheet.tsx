import type { Inputs } from '@oncue/sdk'
import { useState } from 'react'
import { EnvironmentBadge, isProduction } from '../../components/shell/environment-badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Field } from '../../components/ui/field.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Segmented } from '../../components/ui/segmented.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct, useLock, useRead } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { until } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { useHealth } from '../../lib/use-health.ts'
import { topicList } from '../topics/queries.ts'
import { cronInWords } from './cron-words.ts'
import { NextRuns } from './next-runs.tsx'
import type { Schedule } from './queries.ts'
import {
  fieldOf,
  type NewSchedule,
  readSchedule,
  type ScheduleErrors,
  type ScheduleText,
  textOf,
} from './schedule-form.ts'

const MISSED = [
  { value: 'skip', label: 'Skip them' },
  { value: 'one', label: 'Run the last' },
  { value: 'all', label: 'Run all' },
] as const

export interface ScheduleFormSheetProps {
  /** Null: a new one. */
  readonly schedule: Schedule | null
  /** Names of other schedules. */
  readonly taken: readonly string[]
  readonly onClose: () => void
  readonly onSaved: (name: string) => void
}

/** When a schedule runs and what it enqueues. The next runs are shown while the pattern is typed. */
export function ScheduleFormSheet({ schedule, taken, onClose, onSaved }: ScheduleFormSheetProps) {
  const [text, setText] = useState(() => textOf(schedule))
  const [errors, setErrors] = useState<ScheduleErrors>({})
  const [problem, setProblem] = useState<string | null>(null)
  const lock = useLock()
  const toast = useToast()
  const { data } = useHealth()
  const topics = useRead(topicList)
  const saving = useAct(
    (client, next: NewSchedule) =>
      client.schedules.save({
        ...next,
        // Keeps the options that this form does not show.
        ...(schedule && { options: schedule.options as Inputs['schedules']['save']['options'] }),
      }),
    { touches: ['schedules.list'] },
  )

  async function save() {
    setProblem(null)
    const checked = readSchedule(text, taken)
    setErrors(checked.ok ? {} : checked.errors)
    if (!checked.ok) return
    try {
      const { name, nextAt } = await saving.run(checked.schedule)
      felt('done')
      onSaved(name)
      const next = nextAt ? `, next ${until(nextAt, serverNow())}` : ''
      toast.show({ text: `“${name}” saved${next}`, icon: 'check' })
    } catch (error) {
      felt('refused')
      const field = fieldOf(error)
      const said = describeProblem(error).text
      if (field === null) setProblem(said)
      else setErrors({ [field]: said })
    }
  }

  const field = (name: Exclude<keyof ScheduleText, 'missed'>) => ({
    value: text[name],
    onChangeText: (value: string) => {
      const { [name]: _, ...others } = errors
      setErrors(others)
      setText({ ...text, [name]: value })
    },
    error: errors[name] ?? null,
  })
  const isUnknown =
    text.topic.trim() !== '' && topics.data?.every(({ topic }) => topic !== text.topic.trim()) === true
  const isDelicate = lock === null && !saving.isRunning && isProduction(data?.environment ?? null)
  return (
    <Sheet
      isOpen
      title={schedule ? `Edit “${schedule.name}”` : 'New schedule'}
      onClose={onClose}
      footer={
        isDelicate ? (
          <HoldButton label="Hold to save" onConfirm={() => void save()} />
        ) : (
          <Button
            wide
            variant="primary"
            label="Save"
            lock={lock}
            isBusy={saving.isRunning}
            onPress={() => void save()}
          />
        )
      }
    >
      <EnvironmentBadge />
      {!schedule && <Field label="Name" {...field('name')} />}
      <Field
        label="Cron"
        isCode
        placeholder="0 9 * * 1-5"
        help={cronInWords(text.cron) ?? 'Five fields, or six with seconds.'}
        {...field('cron')}
      />
      <Field label="Time zone" placeholder="Europe/Berlin" {...field('timezone')} />
      <NextRuns cron={text.cron} timezone={text.timezone} />
      <Field
        label="Topic"
        {...(isUnknown && { help: 'No worker has announced this topic: its jobs would wait.' })}
        {...field('topic')}
      />
      <Field label="Payload, as JSON" isCode multiline placeholder="{}" {...field('payload')} />
      <Text variant="label">Runs missed while no worker was up</Text>
      <Segmented
        label="Missed runs"
        options={MISSED}
        value={text.missed}
        onChange={(missed) => setText({ ...text, missed })}
      />
      {problem !== null && (
        <Text color="bad" role="alert">
          {problem}
        </Text>
      )}
    </Sheet>
  )
}
