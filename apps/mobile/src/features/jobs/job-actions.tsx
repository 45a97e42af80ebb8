import { isFinished, type JobStatus } from '@oncue/sdk'
import { useState } from 'react'
import { ActionBar } from '../../components/shell/action-bar.tsx'
import { Button } from '../../components/ui/button.tsx'
import { Sheet } from '../../components/ui/sheet.tsx'
import { STATES } from '../../components/ui/state-word.tsx'
import { useCopy } from '../../components/ui/use-copy.ts'
import { useLock } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { useKeyboard } from '../../lib/use-keyboard.ts'
import type { Action } from '../bulk-operations/words.ts'
import { SignalSheet } from '../desk-parts.tsx'
import { EditPayloadSheet } from '../rare-screens.tsx'
import { ActSheet } from './act-sheet.tsx'
import { stateOf } from './job-row.tsx'
import type { JobDetails } from './job-stream.ts'
import { openWaits } from './waits.ts'

/** Retry (or Run now for a job that is due later), Cancel, More. An action that makes no sense now says why. */
export function JobActions({ job, onDeleted }: { readonly job: JobDetails; readonly onDeleted: () => void }) {
  const lock = useLock()
  const [isMore, setMore] = useState(false)
  const [isEditing, setEditing] = useState(false)
  const [isSignalling, setSignalling] = useState(false)
  const enqueueLock = useLock('enqueue')
  // As it was when it was pressed: should it change, whoever confirms is told.
  const [acting, setActing] = useState<{ readonly action: Action; readonly seen: JobStatus } | null>(null)
  const { status } = job
  const waits = openWaits(job, serverNow())
  const begin = (action: Action) => {
    setMore(false)
    setActing({ action, seen: status })
  }
  const notRetried = reasonAgainst('requeue', job)
  useKeyboard({ r: () => lock === null && notRetried === null && begin('requeue') })

  return (
    <>
      <ActionBar>
        {waits?.for.some(({ kind }) => kind === 'signal') ? (
          <Button label="Signal…" icon="signal" lock={enqueueLock} onPress={() => setSignalling(true)} />
        ) : !waits && !job.ending && isLater(job) ? (
          <Button
            label="Run now"
            icon="runNow"
            variant="primary"
            lock={lock}
            onPress={() => begin('run_now')}
          />
        ) : (
          <Button
            label="Retry"
            icon="requeue"
            variant={status === 'failed' ? 'primary' : 'secondary'}
            lock={lock}
            needs={notRetried}
            onPress={() => begin('requeue')}
          />
        )}
        <Button
          label="Cancel"
          icon="cancel"
          lock={lock}
          needs={reasonAgainst('cancel', job)}
          onPress={() => begin('cancel')}
        />
        <Button label="More" icon="more" variant="quiet" onPress={() => setMore(true)} />
      </ActionBar>
      {isMore && (
        <More
          job={job}
          onDelete={() => begin('delete')}
          onEdit={() => {
            setMore(false)
            setEditing(true)
          }}
          onSignal={() => {
            setMore(false)
            setSignalling(true)
          }}
          onClose={() => setMore(false)}
        />
      )}
      {isSignalling && <SignalSheet job={job} onClose={() => setSignalling(false)} />}
      {isEditing && <EditPayloadSheet job={job} onClose={() => setEditing(false)} />}
      {acting && (
        <ActSheet
          action={acting.action}
          ids={[job.id]}
          known={[job]}
          notice={changeInWords(acting.seen, status)}
          onClose={() => setActing(null)}
          {...(acting.action === 'delete' && { onDone: onDeleted })}
        />
      )}
    </>
  )
}

interface MoreProps {
  readonly job: JobDetails
  readonly onDelete: () => void
  readonly onEdit: () => void
  readonly onSignal: () => void
  readonly onClose: () => void
}

function More({ job, onDelete, onEdit, onSignal, onClose }: MoreProps) {
  const lock = useLock()
  const enqueueLock = useLock('enqueue')
  const editLock = useLock('edit')
  const copyText = useCopy()
  const copy = (text: string) => {
    onClose()
    void copyText(text)
  }
  return (
    <Sheet isOpen title={job.topic} onClose={onClose}>
      <Button label="Copy id" icon="copy" wide onPress={() => copy(job.id)} />
      <Button label="Copy as JSON" icon="copy" wide onPress={() => copy(JSON.stringify(job, null, 2))} />
      <Button
        label="Edit payload and retry"
        icon="requeue"
        wide
        lock={editLock}
        needs={canEdit(job) ? null : NOT_EDITABLE}
        onPress={onEdit}
      />
      <Button
        label="Send a signal"
        icon="signal"
        wide
        lock={enqueueLock}
        needs={isFinished(job.status) ? 'Finished jobs take no signals.' : null}
        onPress={onSignal}
      />
      <Button
        label="Delete"
        icon="remove"
        wide
        lock={lock}
        needs={reasonAgainst('delete', job)}
        onPress={onDelete}
      />
    </Sheet>
  )
}

/** It waits for its next try, or for its scheduled time. */
function isLater({ status, runAt }: JobDetails): boolean {
  return status === 'pending' && runAt.getTime() > serverNow()
}

const NOT_EDITABLE = 'Only finished jobs and jobs that wait for their retry can get another payload.'

const canEdit = (job: JobDetails) =>
  isFinished(job.status) ||
  (job.status === 'pending' && job.lastError !== null && !openWaits(job, serverNow()))

const ENDED = {
  completed: 'This job has already completed.',
  failed: 'This job has already failed.',
  cancelled: 'This job was already cancelled.',
} as const

/** Why an action makes no sense for a job as it is; null: go ahead. */
function reasonAgainst(action: Action, job: JobDetails): string | null {
  const { status, cancelAt } = job
  const state = stateOf(job)
  const isHere = state !== 'suspended' && state !== 'undoing'
  const word = STATES[isHere ? status : state].word.toLowerCase()
  if (action === 'requeue')
    return isFinished(status) ? null : `Only finished jobs can be retried: this one is ${word}.`
  if (action === 'cancel') {
    if (isFinished(status)) return ENDED[status]
    if (state === 'undoing') return 'This job is being undone, and ends when that is done.'
    return cancelAt === null ? null : 'A stop was already requested.'
  }
  const canDelete = status === 'failed' || (status === 'pending' && isHere)
  return canDelete ? null : `Only waiting or failed jobs can be deleted: this one is ${word}.`
}

export function changeInWords(seen: JobStatus, now: JobStatus): string | undefined {
  if (seen === now) return undefined
  return `The job has changed: ${STATES[seen].word.toLowerCase()} when you looked, ${STATES[now].word.toLowerCase()} now.`
}
