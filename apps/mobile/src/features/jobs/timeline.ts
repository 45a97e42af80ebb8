import { isFinished, type JobError, type Outputs, type WatchMessage } from '@oncue/sdk'

export type JobDetails = Outputs['jobs']['get']
type JobEvent = JobDetails['events'][number]

/** One entry of a job's timeline. */
export type Entry = { readonly key: string; readonly at: Date } & (
  | { readonly kind: 'enqueued' }
  | {
      readonly kind: 'run'
      readonly run: number
      readonly outcome:
        | 'running'
        | 'completed'
        | 'cancelled'
        | 'failed'
        | 'crashed'
        | 'snoozed'
        | 'interrupted'
      /** Counted from when the job could have run, or from the end of its last run. */
      readonly waitedMs: number | null
      readonly ranMs: number | null
      /** For how long it was snoozed. */
      readonly snoozedMs: number | null
      readonly worker: string | null
      readonly error: Pick<JobError, 'class' | 'message'> | null
    }
  | {
      readonly kind: 'done-by'
      readonly what: 'requeued' | 'payload_changed' | 'run_now' | 'cancelled' | 'cancel_requested'
      readonly by: string | null
    }
  | {
      readonly kind: 'replaced'
      /** The job that runs in its place. Null: this job, with a newer payload. */
      readonly by: string | null
    }
  | { readonly kind: 'step'; readonly name: string }
  | { readonly kind: 'event'; readonly type: string; readonly data: unknown }
  | { readonly kind: 'next'; readonly isRetry: boolean }
)

/** A line that the handler logged. */
export interface LogLine {
  readonly version: number
  readonly at: Date
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>> | null
}

interface RunData {
  readonly run?: number
  readonly worker?: string | null
  readonly startedAt?: string | null
  readonly error?: JobError
  readonly delayMs?: number
}

const OUTCOMES = {
  run_failed: 'failed',
  run_crashed: 'crashed',
  run_snoozed: 'snoozed',
  run_interrupted: 'interrupted',
} as const

/** The oldest entry first. A run without incident leaves no event, so the latest comes from the job itself. */
export function timelineOf(job: JobDetails): readonly Entry[] {
  const entries: Entry[] = []
  let freeAt = job.created.getTime()
  let told = 0
  for (const event of job.events) {
    const entry = entryOf(event, freeAt, job)
    if (!entry) continue
    entries.push(entry)
    if (entry.kind === 'run') told = entry.run
    // A request to stop does not end the run, so its waiting time stays the same.
    if (entry.kind === 'run' || (entry.kind === 'done-by' && entry.what !== 'cancel_requested'))
      freeAt = event.created.getTime()
  }
  if (job.run > told && job.startedAt) entries.push(latestRun(job, job.startedAt, freeAt))
  // Events during a run come after its start.
  entries.sort((a, b) => a.at.getTime() - b.at.getTime())
  if (job.status === 'pending' && job.visibleAt && (job.run > 0 || job.visibleAt.getTime() > freeAt))
    entries.push({ key: 'next', kind: 'next', at: job.visibleAt, isRetry: job.run > 0 })
  return [{ key: 'enqueued', kind: 'enqueued', at: job.created }, ...entries]
}

function entryOf({ version, type, data, created }: JobEvent, freeAt: number, job: JobDetails): Entry | null {
  const key = String(version)
  switch (type) {
    case 'log':
      return null
    case 'run_failed':
    case 'run_crashed':
    case 'run_snoozed':
    case 'run_interrupted': {
      const { run = 0, worker = null, startedAt, error, delayMs = null } = (data ?? {}) as RunData
      // For the latest run, the job itself has the start time.
      const begun = startedAt ?? (run === job.run ? job.startedAt : null)
      const start = begun === null ? null : new Date(begun).getTime()
      return {
        ...{ key, kind: 'run', run, worker, at: created, error: error ?? null },
        outcome: OUTCOMES[type],
        snoozedMs: delayMs,
        waitedMs: start === null ? null : Math.max(0, start - freeAt),
        ranMs: start === null ? null : created.getTime() - start,
      }
    }
    case 'requeued':
    case 'payload_changed':
    case 'run_now':
    case 'cancelled':
    case 'cancel_requested':
      return {
        key,
        kind: 'done-by',
        at: created,
        what: type,
        by: (data as { by?: string } | null)?.by ?? null,
      }
    case 'replaced':
      return { key, kind: 'replaced', at: created, by: (data as { jobId?: string } | null)?.jobId ?? null }
    case 'step_finished':
      return { key, kind: 'step', at: created, name: (data as { name: string }).name }
    default:
      return { key, kind: 'event', at: created, type, data }
  }
}

function latestRun(job: JobDetails, startedAt: Date, freeAt: number): Entry {
  const { run, status, finishedAt, lockedBy, runAt } = job
  const start = startedAt.getTime()
  const could = Math.max(freeAt, Math.min(runAt.getTime(), start))
  const outcome = status === 'processing' ? 'running' : isFinished(status) ? status : 'completed'
  return {
    ...{ key: `run-${run}`, kind: 'run', run, outcome, worker: lockedBy, error: null, snoozedMs: null },
    at: finishedAt ?? startedAt,
    waitedMs: Math.max(0, start - could),
    ranMs: finishedAt && finishedAt.getTime() - start,
  }
}

/** Sorted by the time at which they were written. */
export function logOf(events: readonly JobEvent[]): readonly LogLine[] {
  return events
    .filter(({ type }) => type === 'log')
    .map(({ version, created, data }) => {
      const { level = 'info', message = '', fields = null } = (data ?? {}) as Partial<LogLine>
      return { version, at: created, level, message, fields }
    })
    .sort((a, b) => a.at.getTime() - b.at.getTime() || a.version - b.version)
}

/** From 0 to 1, where a progress says so: 0.4, 40, { done: 4, total: 10 }. */
export function shareOf(progress: unknown): number | null {
  if (typeof progress === 'number') return clamped(progress > 1 ? progress / 100 : progress)
  if (typeof progress !== 'object' || progress === null) return null
  const { total, percent, ...rest } = progress as Record<string, unknown>
  if (typeof percent === 'number') return clamped(percent / 100)
  const done = rest.done ?? rest.current ?? rest.processed ?? rest.completed
  return typeof done === 'number' && typeof total === 'number' && total > 0 ? clamped(done / total) : null
}

const clamped = (share: number) => (Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : null)

/** The job with a message of its stream applied. */
export function withMessage(job: JobDetails, message: WatchMessage): JobDetails {
  if (message.type === 'event') return { ...job, events: mergeEvents(job.events, [message.event]) }
  const { status, run, progress, updated } = message.state
  return { ...job, status, run, progress, updated }
}

/** Both lists without duplicates, in order. */
export function mergeEvents(known: JobDetails['events'], others: JobDetails['events']): JobDetails['events'] {
  const last = known.at(-1)?.version ?? 0
  const isInOrder = others.every(({ version }, index) => version === last + 1 + index)
  if (isInOrder) return others.length === 0 ? known : [...known, ...others]
  const all = new Map([...known, ...others].map((event) => [event.version, event]))
  return all.size === known.length ? known : [...all.values()].sort((a, b) => a.version - b.version)
}
