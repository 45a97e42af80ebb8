/** Every status of a job. */
export const JOB_STATUSES = ['blocked', 'pending', 'processing', 'completed', 'failed', 'cancelled'] as const
/** The status of a job. */
export type JobStatus = (typeof JOB_STATUSES)[number]

/** Every pending job that is not suspended is one of these: due, due later, or due again because its last run failed. */
export const PENDING_KINDS = ['waiting', 'scheduled', 'retrying'] as const
/** Which kind of pending job. */
export type PendingKind = (typeof PENDING_KINDS)[number]

/** What a job is for those who count or list them: each is in one of these. */
export type JobState = Exclude<JobStatus, 'pending'> | PendingKind | 'suspended'

/**
 * The status of a job, and of a pending one which kind it is. A suspended job is pending or blocked for the store, and
 * neither for people: it has begun, and waits for what its handler asked for.
 */
export function stateOf(
  job: {
    readonly status: JobStatus
    readonly runAt: Date
    readonly retries: number
    readonly crashes: number
    /** What it waits for. Null: it is not suspended. */
    readonly waits: object | null
  },
  now: Date,
): JobState {
  const { status, runAt, retries, crashes, waits } = job
  if (waits && (status === 'blocked' || (status === 'pending' && runAt > now))) return 'suspended'
  if (status !== 'pending') return status
  if (retries > 0 || crashes > 0) return 'retrying'
  return runAt > now ? 'scheduled' : 'waiting'
}

/** In the `jobs` table. */
export const LIVE_STATUSES = ['blocked', 'pending', 'processing'] as const satisfies readonly JobStatus[]
/** The status of a job that has not ended. */
export type LiveStatus = (typeof LIVE_STATUSES)[number]

/** In the `history` table. */
export const FINISHED_STATUSES = ['completed', 'failed', 'cancelled'] as const satisfies readonly JobStatus[]
/** The status of a job that has ended. */
export type FinishedStatus = (typeof FINISHED_STATUSES)[number]

interface Transition {
  readonly from: readonly JobStatus[]
  readonly to: JobStatus
}

/**
 * Every way a job may change its status. A status change that is not listed here is a bug.
 *
 * Five transitions lead from processing back to pending. They are distinct because they charge differently:
 * a retry counts in `retries`, a crash in `crashes`, a snooze, a release and a suspension count nowhere. A crash
 * or a failed run that has no retries left is a `fail`.
 */
export const TRANSITIONS = {
  release_dependant: { from: ['blocked'], to: 'pending' },
  /** A parent did not complete, and the policy is to fail with it. */
  stop: { from: ['blocked'], to: 'failed' },
  claim: { from: ['pending'], to: 'processing' },
  complete: { from: ['processing'], to: 'completed' },
  fail: { from: ['processing'], to: 'failed' },
  retry: { from: ['processing'], to: 'pending' },
  crash: { from: ['processing'], to: 'pending' },
  snooze: { from: ['processing'], to: 'pending' },
  release: { from: ['processing'], to: 'pending' },
  /** It waits outside of its worker, for a signal without a timeout. */
  suspend: { from: ['processing'], to: 'blocked' },
  /** The same, until a moment at the latest. */
  suspend_until: { from: ['processing'], to: 'pending' },
  /** A signal came for which it was suspended. */
  resume: { from: ['blocked'], to: 'pending' },
  /** It has ended badly and has registered undos: its next run undoes it, and ends it. */
  undo: { from: ['blocked', 'processing'], to: 'pending' },
  cancel: { from: LIVE_STATUSES, to: 'cancelled' },
  requeue: { from: FINISHED_STATUSES, to: 'pending' },
} as const satisfies Record<string, Transition>

export type TransitionName = keyof typeof TRANSITIONS

export function canTransition(from: JobStatus, name: TransitionName): boolean {
  const allowed: readonly JobStatus[] = TRANSITIONS[name].from
  return allowed.includes(from)
}

/** Whether people can do this to a job with this status, or to a suspended one. */
export function canAct(
  action: 'requeue' | 'run_now' | 'cancel' | 'delete',
  status: JobStatus | 'suspended',
): boolean {
  if (status === 'suspended') return action === 'cancel'
  if (action === 'delete') return status === 'pending' || status === 'failed'
  if (action === 'run_now') return status === 'pending'
  return canTransition(status, action)
}

/** Whether a status is one of a job that has ended. */
export function isFinished(status: JobStatus): status is FinishedStatus {
  const finished: readonly JobStatus[] = FINISHED_STATUSES
  return finished.includes(status)
}
