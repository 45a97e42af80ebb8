import { isFinished, type JobError, type Outputs } from '@oncue/sdk'
import type { JobDetails, JobEvent } from './job-stream.ts'
import { openWaits, type Waits } from './waits.ts'

/** What the events of a job do not say: results of steps, signals, questions, children. */
export type Story = Outputs['jobs']['timeline']
type Told = Story['entries'][number]
/** The others are told by the job itself and by its events. */
export type ToldKind = Exclude<Told['kind'], 'created' | 'finished' | 'event' | 'waiting'>

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
        | 'suspended'
      /** Counted from when the job could have run, or from the end of its last run. */
      readonly waitedMs: number | null
      readonly ranMs: number | null
      /** For how long it was snoozed. */
      readonly snoozedMs: number | null
      readonly worker: string | null
      readonly error: Pick<JobError, 'class' | 'message'> | null
      /** It ran the undos, and the job ended as it had to. */
      readonly hasUndone: boolean
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
  | (Pick<Told, 'name' | 'by' | 'until' | 'data' | 'size'> & {
      readonly kind: 'told'
      readonly what: ToldKind
      /** In which run, and how far into it. Null: between runs, or not known. */
      readonly within: { readonly run: number; readonly ms: number } | null
      /** How long the job was suspended for it, or a question was open. */
      readonly tookMs: number | null
      /** Where the API names its data, for masked values: `entries[3].data`. */
      readonly path: string
    })
  | { readonly kind: 'waiting'; readonly waits: Waits; readonly isUndoing: boolean }
  | { readonly kind: 'event'; readonly type: string; readonly data: unknown }
  | { readonly kind: 'next'; readonly isRetry: boolean }
)

type RunEntry = Extract<Entry, { kind: 'run' }>

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
  run_suspended: 'suspended',
} as const

/**
 * The oldest entry first. A run without incident leaves no event, so the latest comes from the job itself. What only the
 * story tells has its place by its time.
 */
export function timelineOf(job: JobDetails, story: Story | undefined = undefined, now = 0): readonly Entry[] {
  const told = toldOf(story)
  const known = new Set(told.map(({ entry }) => `${entry.kind} ${entry.name}`))
  const parts: readonly Part[] = [
    ...job.events.flatMap((event) => (isToldBetter(event, known) ? [] : [{ at: event.created, event }])),
    ...told.map((each) => ({ at: each.entry.at, told: each })),
  ]
  const reader = new Reader(job)
  const past = parts.length > job.events.length ? [...parts].sort((a, b) => +a.at - +b.at) : parts
  const entries = past.flatMap((part) =>
    'event' in part ? reader.event(part.event) : reader.told(part.told),
  )
  entries.push(...reader.latest())
  // Events during a run come after its start.
  entries.sort((a, b) => a.at.getTime() - b.at.getTime())
  return [
    { key: 'enqueued', kind: 'enqueued', at: job.created },
    ...withRuns(entries, job),
    ...nextOf(job, reader, now),
  ]
}

interface ToldEntry {
  readonly entry: Told & { readonly kind: ToldKind }
  readonly path: string
}
type Part = { readonly at: Date } & ({ readonly event: JobEvent } | { readonly told: ToldEntry })

const isTold = (entry: Told): entry is Told & { readonly kind: ToldKind } =>
  !['created', 'finished', 'event', 'waiting'].includes(entry.kind)

function toldOf(story: Story | undefined): readonly ToldEntry[] {
  return (story?.entries ?? []).flatMap((entry, n) =>
    isTold(entry) ? [{ entry, path: `entries[${n}].data` }] : [],
  )
}

/** The outcome of a step has its result; that of an undo says the same as its event. */
function isToldBetter({ type, data }: JobEvent, known: ReadonlySet<string>): boolean {
  const kind = type === 'step_finished' ? 'step' : type
  return known.has(`${kind} ${(data as { name?: string } | null)?.name}`)
}

/** These end a suspension when they happen; a sleep that is over is noticed by the next run. */
const WAKES: readonly ToldKind[] = ['signal', 'answer', 'children', 'timeout']

/** Reads what happened in order, and keeps in mind since when the job could run. */
class Reader {
  readonly #job: JobDetails
  /** Null: it was suspended, and what ended that is not known. */
  freeAt: number | null
  /** How the last run ended that an event tells. */
  wasSuspended = false
  #suspendedAt: number | null = null
  readonly #asked = new Map<string | null, Date>()
  #seen = new Map<string, number>()
  #run = 0
  #isUndoing = false

  constructor(job: JobDetails) {
    this.#job = job
    this.freeAt = job.created.getTime()
  }

  event(event: JobEvent): Entry[] {
    const entry = entryOf(event, this.freeAt, this.#job)
    if (!entry) return []
    const at = event.created.getTime()
    if (event.type === 'undoing') this.#isUndoing = true
    else if (event.type === 'requeued' || event.type === 'steps_forgotten') this.#isUndoing = false
    if (entry.kind === 'run') {
      this.#run = entry.run
      this.wasSuspended = entry.outcome === 'suspended'
      this.freeAt = this.wasSuspended ? null : at
      this.#suspendedAt = this.wasSuspended ? at : null
      // A request to stop does not end the run, so its waiting time stays the same.
    } else if (entry.kind === 'done-by' && entry.what !== 'cancel_requested') this.freeAt = at
    return [entry]
  }

  told({ entry, path }: ToldEntry): Entry[] {
    const { kind: what, at, name, by, until, data, size } = entry
    const since = what === 'answer' ? this.#asked.get(name) : undefined
    const tookMs = since ? +at - +since : this.#endsWait(what) ? +at - (this.#suspendedAt ?? 0) : null
    if (what === 'asked') this.#asked.set(name, at)
    if (WAKES.includes(what)) this.freeAt ??= at.getTime()
    if (this.#endsWait(what)) this.#suspendedAt = null
    const id = `${what} ${name ?? ''}`
    const before = this.#seen.get(id) ?? 0
    this.#seen.set(id, before + 1)
    const key = `${id} ${before}`
    return [{ key, kind: 'told', at, what, name, by, until, data, size, tookMs, path, within: null }]
  }

  #endsWait(what: ToldKind): boolean {
    return this.#suspendedAt !== null && (what === 'slept' || what === 'retried' || WAKES.includes(what))
  }

  /** Of the latest run, unless an event tells it. */
  latest(): Entry[] {
    const { run, startedAt, status } = this.#job
    if (run <= this.#run || !startedAt) return []
    // An undo that keeps failing leaves an event.
    const hasUndone = this.#isUndoing && isFinished(status)
    return [{ ...latestRun(this.#job, startedAt, this.freeAt), hasUndone }]
  }
}

/** Says of what happened within a run in which, and how far into it. */
function withRuns(entries: readonly Entry[], { startedAt, status }: JobDetails): readonly Entry[] {
  const runs = entries.flatMap((entry) => {
    if (entry.kind !== 'run') return []
    const isRunning = entry.outcome === 'running' && status === 'processing'
    const end = isRunning ? Number.POSITIVE_INFINITY : entry.at.getTime()
    const start = isRunning ? startedAt?.getTime() : entry.ranMs === null ? undefined : end - entry.ranMs
    return start === undefined ? [] : [{ run: entry.run, start, end }]
  })
  return entries.map((entry) => {
    if (entry.kind !== 'told' || !DONE.includes(entry.what)) return entry
    const at = entry.at.getTime()
    const found = runs.find(({ start, end }) => start <= at && at <= end)
    return found ? { ...entry, within: { run: found.run, ms: at - found.start } } : entry
  })
}

/** What a run does, as opposed to what it waits for. */
const DONE: readonly ToldKind[] = ['step', 'step_failed', 'spawned', 'undo', 'undone']

/** What comes next, if it is known. */
function nextOf(job: JobDetails, { freeAt, wasSuspended }: Reader, now: number): Entry[] {
  const waits = openWaits(job, now)
  if (waits)
    return [
      { key: 'waiting', kind: 'waiting', at: new Date(waits.since), waits, isUndoing: job.ending !== null },
    ]
  const { status, visibleAt, run } = job
  if (status !== 'pending' || !visibleAt) return []
  const isRetry = run > 0 && !wasSuspended
  if (run === 0 && visibleAt.getTime() <= (freeAt ?? 0)) return []
  return [{ key: 'next', kind: 'next', at: visibleAt, isRetry }]
}

function entryOf(
  { version, type, data, created }: JobEvent,
  freeAt: number | null,
  job: JobDetails,
): Entry | null {
  const key = String(version)
  switch (type) {
    case 'log':
      return null
    case 'run_failed':
    case 'run_crashed':
    case 'run_snoozed':
    case 'run_interrupted':
    case 'run_suspended': {
      const { run = 0, worker = null, startedAt, error, delayMs = null } = (data ?? {}) as RunData
      // For the latest run, the job itself has the start time.
      const begun = startedAt ?? (run === job.run ? job.startedAt : null)
      const start = begun === null ? null : new Date(begun).getTime()
      return {
        ...{ key, kind: 'run', run, worker, at: created, error: error ?? null },
        hasUndone: false,
        outcome: OUTCOMES[type],
        snoozedMs: delayMs,
        waitedMs: start === null || freeAt === null ? null : Math.max(0, start - freeAt),
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

function latestRun(job: JobDetails, startedAt: Date, freeAt: number | null): Omit<RunEntry, 'hasUndone'> {
  const { run, status, finishedAt, lockedBy, runAt } = job
  const start = startedAt.getTime()
  // A suspension ends by setting when the job may run.
  const could = Math.max(freeAt ?? 0, Math.min(runAt.getTime(), start))
  const outcome = status === 'processing' ? 'running' : isFinished(status) ? status : 'completed'
  return {
    ...{ key: `run-${run}`, kind: 'run', run, outcome, worker: lockedBy, error: null, snoozedMs: null },
    at: finishedAt ?? startedAt,
    waitedMs: Math.max(0, start - could),
    ranMs: finishedAt && finishedAt.getTime() - start,
  }
}
