import { useState } from 'react'
import { StyleSheet, View } from 'react-native'
import { EnvironmentBadge } from '../../components/shell/environment-badge.tsx'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import { Sheet } from '../../components/ui/sheet.tsx'
import { Text } from '../../components/ui/text.tsx'
import { useToast } from '../../components/ui/toast.tsx'
import { useAct } from '../../lib/api.tsx'
import { shortId } from '../../lib/format.ts'
import { felt } from '../../lib/haptics.ts'
import { space } from '../../theme/tokens.ts'
import { ConfirmButton, stay } from '../bulk-operations/confirm-sheet.tsx'
import { TOUCHED } from '../bulk-operations/queries.ts'
import {
  type Action,
  jobs,
  leftAloneInWords,
  leftAloneOf,
  outcomeInWords,
  phraseOf,
  reasonInWords,
  VERBS,
} from '../bulk-operations/words.ts'
import { stateOf } from './job-row.tsx'

/** The most ids that one call may name. */
const BATCH = 1_000

export interface ActSheetProps {
  readonly action: Action
  readonly ids: readonly string[]
  /** Those of the jobs that are still loaded. */
  readonly known: readonly Known[]
  /** What changed since it was opened. */
  readonly notice?: string | undefined
  readonly onClose: () => void
  readonly onDone?: () => void
}

/** Asks before an action on jobs that were selected one by one. Open while it is mounted. */
export function ActSheet({ action, ids, known, notice, onClose, onDone }: ActSheetProps) {
  const toast = useToast()
  const [problem, setProblem] = useState<string | null>(null)
  const acting = useAct(
    async (client) => {
      const report: Report = { done: 0, skipped: {} }
      for (let at = 0; at < ids.length; at += BATCH)
        add(report, await client.jobs[CALLS[action]](ids.slice(at, at + BATCH)))
      return report
    },
    { touches: [...TOUCHED, 'jobs.get', 'jobs.stats'] },
  )
  const confirm = async () => {
    setProblem(null)
    try {
      const report = await acting.run(undefined)
      felt(report.done > 0 ? 'done' : 'refused')
      onClose()
      toast.show({
        text: tell(action, report, runningOf(ids, known)),
        icon: report.done > 0 ? 'check' : 'warn',
      })
      onDone?.()
    } catch (error) {
      felt('refused')
      setProblem(describeProblem(error).text)
    }
  }
  const states = statesOf(ids, known)
  const acted = ids.length - leftAloneOf(action, states)
  const leftAlone = leftAloneInWords(action, states)
  return (
    <Sheet
      isOpen
      title={
        acted === 0
          ? `Nothing to ${VERBS[action].verb.toLowerCase()}`
          : `${phraseOf(action, ids.length === 1 ? 'this job' : jobs(acted))}?`
      }
      // Closing now would look like cancelling.
      onClose={acting.isRunning ? stay : onClose}
      footer={
        acted > 0 && (
          <ConfirmButton
            action={action}
            count={acted}
            isDanger={action === 'cancel' || action === 'delete'}
            isBusy={acting.isRunning}
            onConfirm={() => void confirm()}
          />
        )
      }
    >
      <View style={styles.scope}>
        <EnvironmentBadge />
        <Text strong style={styles.words}>
          {scopeInWords(ids, known)}
        </Text>
      </View>
      {notice !== undefined && (
        <Text color="warn" strong role="status">
          {notice}
        </Text>
      )}
      {leftAlone !== null && (
        <Text color="warn" strong>
          {leftAlone}
        </Text>
      )}
      {acted > 0 && (
        <Text variant="small" color="textMuted">
          {consequenceOf(action, ids.length)}
        </Text>
      )}
      {problem !== null && (
        <Text color="bad" role="alert">
          {problem}
        </Text>
      )}
    </Sheet>
  )
}

type Known = Parameters<typeof stateOf>[0] & {
  readonly id: string
  readonly topic: string
  readonly queue: string
}

/** How many of them were in each state when last loaded. */
function statesOf(ids: readonly string[], known: readonly Known[]): Readonly<Record<string, number>> {
  const wanted = new Set(ids)
  const counts: Record<string, number> = {}
  for (const job of known) {
    const state = stateOf(job)
    if (wanted.has(job.id)) counts[state] = (counts[state] ?? 0) + 1
  }
  return counts
}

/** How many of them were running when last loaded. */
function runningOf(ids: readonly string[], known: readonly Known[]): 'none' | 'some' | 'all' {
  const wanted = new Set(ids)
  const running = known.filter(({ id, status }) => wanted.has(id) && status === 'processing')
  if (running.length === 0) return 'none'
  return running.length === wanted.size ? 'all' : 'some'
}

/** "mail_digest in mail", with the id of a single job. Jobs that are no longer loaded are named by their ids. */
function scopeInWords(ids: readonly string[], known: readonly Known[]): string {
  const kinds = new Map(known.map(({ id, topic, queue }) => [id, `${topic} in ${queue}`]))
  const nameOf = (id: string) => {
    const kind = kinds.get(id)
    if (kind === undefined) return shortId(id)
    return ids.length === 1 ? `${kind} · ${shortId(id)}` : kind
  }
  const names = [...new Set(ids.map(nameOf))]
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and others` : names.join(', ')
}

interface Report {
  done: number
  skipped: Record<string, number>
}

function add(report: Report, { done, skipped }: Readonly<Report>): void {
  report.done += done
  for (const [why, many] of Object.entries(skipped)) report.skipped[why] = (report.skipped[why] ?? 0) + many
}

/**
 * "Requeued 3, skipped 1 (already waiting or running)", or why nothing happened. A running job is not cancelled yet: it
 * was asked to stop.
 */
function tell(
  action: Action,
  { done, skipped }: Readonly<Report>,
  running: ReturnType<typeof runningOf>,
): string {
  const [why] = Object.keys(skipped)
  if (done === 0 && why !== undefined)
    return `Nothing was ${VERBS[action].done}: ${reasonInWords(why, action)}`
  if (action === 'cancel' && running === 'all' && why === undefined) return `Asked ${jobs(done)} to stop`
  const words = outcomeInWords({
    action,
    done,
    skipped,
    status: 'completed',
    total: done,
    totalIsExact: true,
  })
  const asked = action === 'cancel' && running !== 'none' ? '; running jobs were asked to stop' : ''
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${asked}`
}

const CALLS = { requeue: 'requeue', run_now: 'runNow', cancel: 'cancel', delete: 'delete' } as const

const CONSEQUENCES: Readonly<Record<Action, string>> = {
  requeue: 'Runs again from the start, with all retries.',
  run_now: 'Runs as soon as a worker is free, instead of at its time. Its retries stay as they are.',
  cancel: 'Waiting jobs will not run. Running jobs are asked to stop. Jobs with undos are undone first.',
  delete: 'Permanently deleted, with payload and error. Only waiting and failed jobs can be deleted.',
}

/** Of several jobs, some may be in a state in which they are not retried. */
function consequenceOf(action: Action, many: number): string {
  const others = action === 'requeue' && many > 1 ? ' Waiting and running jobs are left alone.' : ''
  return `${CONSEQUENCES[action]}${others}`
}

const styles = StyleSheet.create({
  scope: { flexDirection: 'row', flexWrap: 'wrap', alignItems: 'center', gap: space.s },
  words: { flexShrink: 1 },
})
