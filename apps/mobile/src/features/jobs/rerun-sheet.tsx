import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { EnvironmentBadge, isProduction } from '../../components/shell/environment-badge.tsx'
import { Button } from '../../components/ui/button.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { HoldButton } from '../../components/ui/hold-button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct, useLock } from '../../lib/api.tsx'
import { number, shortId } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { useHealth } from '../../lib/use-health.ts'
import { space } from '../../theme/tokens.ts'
import { stay } from '../bulk-operations/confirm-sheet.tsx'
import { TOUCHED } from '../bulk-operations/queries.ts'
import type { JobDetails } from './job-stream.ts'

export interface RerunSheetProps {
  readonly job: Pick<JobDetails, 'id' | 'topic'>
  readonly step: string
  /** All recorded steps, in their order. */
  readonly steps: readonly string[]
  readonly onClose: () => void
}

/** Asks before a finished job runs again from one of its steps, and says which of them it repeats. */
export function RerunSheet({ job: { id, topic }, step, steps, onClose }: RerunSheetProps) {
  const [problem, setProblem] = useState<string | null>(null)
  const toast = useToast()
  const lock = useLock()
  const { data } = useHealth()
  const rerun = useAct((client) => client.jobs.requeueFrom(id, step), {
    touches: [...TOUCHED, 'jobs.get', 'jobs.timeline', 'jobs.tree', 'jobs.explain', 'jobs.stats'],
  })
  const at = steps.indexOf(step)
  const [before, after] = [steps.slice(0, at), steps.slice(at + 1)]

  async function confirm() {
    setProblem(null)
    try {
      await rerun.run(undefined)
      felt('done')
      onClose()
      toast.show({ text: `Set to run again from “${step}”`, icon: 'check' })
    } catch (error) {
      felt('refused')
      setProblem(describeProblem(error).text)
    }
  }

  // Without health data the environment is unknown: treat it as production.
  const isDelicate = lock === null && !rerun.isRunning && (!data || isProduction(data.environment))
  return (
    <Sheet
      isOpen
      title={`Rerun from “${step}”?`}
      // Closing now would look like cancelling.
      onClose={rerun.isRunning ? stay : onClose}
      footer={
        isDelicate ? (
          <HoldButton label="Hold to rerun" onConfirm={() => void confirm()} />
        ) : (
          <Button
            wide
            variant="primary"
            label="Rerun"
            lock={lock}
            isBusy={rerun.isRunning}
            onPress={() => void confirm()}
          />
        )
      }
    >
      <View style={styles.where}>
        <EnvironmentBadge />
        <Text strong style={styles.job}>{`${topic} · ${shortId(id)}`}</Text>
      </View>
      <Text>{`Runs again, with its effects: ${namesOf([step, ...after])}.`}</Text>
      <Text>
        {before.length > 0
          ? `Keeps its result, and does not run again: ${namesOf(before)}.`
          : 'No step was recorded before it: all run again.'}
      </Text>
      <Text variant="small" color="textMuted">
        Signals and answers that came later are forgotten, so it waits for them again. Jobs that it spawned
        later go on without it.
      </Text>
      {problem !== null && (
        <Text color="bad" role="alert">
          {problem}
        </Text>
      )}
    </Sheet>
  )
}

const NAMED = 5

/** "charge, ship and 3 more" */
function namesOf(names: readonly string[]): string {
  const rest = names.length - NAMED
  const named = names.slice(0, NAMED)
  if (rest > 0) return `${named.join(', ')} and ${number(rest)} more`
  return named.length > 1 ? `${named.slice(0, -1).join(', ')} and ${named.at(-1)}` : named.join()
}

const styles = StyleSheet.create({
  where: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', gap: space.s },
  job: { flexShrink: 1, minWidth: 0 },
})
