import type { Outputs, WatchMessage } from '@oncue/sdk'

export type JobDetails = Outputs['jobs']['get']
export type JobEvent = JobDetails['events'][number]

/** A line that the handler logged. */
export interface LogLine {
  readonly version: number
  readonly at: Date
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>> | null
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
