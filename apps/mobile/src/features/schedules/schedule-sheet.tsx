import { useState } from 'react'
import { EnvironmentBadge, isProduction } from '../../components/shell/environment-badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Fact } from '../../components/ui/fact.tsx'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { JsonTree } from '../../components/ui/json-tree.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct, useLock } from '../../lib/api.tsx'
import { useServerNow } from '../../lib/clock.ts'
import { moment, until } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { useHealth } from '../../lib/use-health.ts'
import { useOpen } from '../../lib/use-open.ts'
import { cronInWords } from './cron-words.ts'
import { runsInWords } from './next-words.ts'
import type { Schedule } from './queries.ts'
import { useScheduleActs } from './use-schedule-acts.ts'

const MISSED = {
  skip: 'are skipped',
  one: 'only the last one is made up for',
  all: 'are all made up for',
} as const

export interface ScheduleSheetProps {
  readonly schedule: Schedule
  readonly onClose: () => void
  readonly onEdit: () => void
}

/** One schedule, and what can be done with it: pause, resume, run it now, edit, remove. */
export function ScheduleSheet({ schedule, onClose, onEdit }: ScheduleSheetProps) {
  const { name, cron, timezone, topic, payload, missed, source, service, nextAt, nextRuns, lastAt, paused } =
    schedule
  const acts = useScheduleActs()
  const lock = useLock()
  const [isConfirming, setConfirming] = useState(false)
  if (isConfirming) return <RunNow schedule={schedule} onClose={onClose} />
  return (
    <Sheet
      isOpen
      title={name}
      onClose={onClose}
      footer={
        <>
          <Button
            wide
            label={paused ? 'Resume' : 'Pause'}
            icon={paused ? 'resume' : 'pause'}
            lock={lock}
            isBusy={acts.isRunning}
            onPress={() => {
              if (paused) acts.resume(name)
              else acts.pause(name)
              onClose()
            }}
          />
          <Button wide label="Run now…" icon="requeue" lock={lock} onPress={() => setConfirming(true)} />
          {source === 'database' && <Changes name={name} lock={lock} onEdit={onEdit} onClose={onClose} />}
        </>
      }
    >
      <Fact name="When" value={`${cronInWords(cron) ?? cron}, ${timezone}`} />
      <Fact name="Cron" value={<Text variant="code">{cron}</Text>} />
      {paused && <Fact name="Paused" value={`${moment(paused.at)}${paused.by ? ` by ${paused.by}` : ''}`} />}
      <Fact
        name="Next runs"
        value={nextAt && !paused ? <NextRuns first={nextAt} runs={nextRuns} /> : 'none'}
      />
      <Fact name="Last run" value={lastAt ? moment(lastAt) : 'never ran'} />
      <Fact name="Enqueues" value={topic} />
      <Fact name="Missed runs" value={MISSED[missed]} />
      <Fact name="Defined in" value={source === 'code' ? 'code' : 'the database'} />
      {source === 'code' && (
        <Text variant="small" color="textMuted">
          {`Declared in code${service === null ? '' : `, by ${service}`}: edit or remove it there.`}
        </Text>
      )}
      {payload !== null && <JsonTree value={payload} />}
    </Sheet>
  )
}

interface ChangesProps {
  readonly name: string
  readonly lock: string | null
  readonly onEdit: () => void
  readonly onClose: () => void
}

/** Edit and remove, for a schedule that was created here rather than in code. */
function Changes({ name, lock, onEdit, onClose }: ChangesProps) {
  const toast = useToast()
  const removing = useAct((client, _: null) => client.schedules.remove({ name }), {
    touches: ['schedules.list'],
  })
  const remove = async () => {
    try {
      await removing.run(null)
      felt('done')
      onClose()
      toast.show({ text: `“${name}” removed`, icon: 'check' })
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }
  return (
    <>
      <Button wide label="Edit" lock={lock} onPress={onEdit} />
      {lock === null ? (
        <HoldButton label="Hold to remove this schedule" variant="danger" onConfirm={() => void remove()} />
      ) : (
        <Button wide label="Remove" lock={lock} onPress={() => {}} />
      )}
    </>
  )
}

/** "in 3 min, at 03:00, then 04:00, 05:00 UTC+1". */
function NextRuns({ first, runs }: { readonly first: Date; readonly runs: readonly Date[] }) {
  const now = useServerNow()
  return `${until(first, now)}, at ${runsInWords(runs, now)}`
}

/** Asks first, since a run cannot be undone. */
function RunNow({ schedule: { name, topic }, onClose }: Omit<ScheduleSheetProps, 'onEdit'>) {
  const { data } = useHealth()
  const toast = useToast()
  const openJob = useOpen('jobId')
  const run = useAct((client, _: null) => client.schedules.runNow({ name }), { touches: ['schedules.list'] })
  const confirm = async () => {
    try {
      const { id } = await run.run(null)
      felt('done')
      onClose()
      openJob(id)
    } catch (error) {
      felt('refused')
      toast.show({ text: describeProblem(error).text, icon: 'warn' })
    }
  }
  const isDelicate = !data || isProduction(data.environment)
  return (
    <Sheet
      isOpen
      title={`Run “${name}” now?`}
      onClose={onClose}
      footer={
        isDelicate && !run.isRunning ? (
          <HoldButton label="Hold to run it now" onConfirm={() => void confirm()} />
        ) : (
          <Button
            wide
            variant="primary"
            label="Run it now"
            isBusy={run.isRunning}
            onPress={() => void confirm()}
          />
        )
      }
    >
      <EnvironmentBadge />
      <Text>{`Enqueues one extra “${topic}” job.`}</Text>
    </Sheet>
  )
}
