// What users write: definitions, handlers, options, errors. Shapes of the API: ./wire/index.ts.
export type { Handler, JobContext, JobLog, RunningJob } from './define/context.ts'
export {
  defineJob,
  defineJobs,
  type InputOf,
  type Isolation,
  type JobConfig,
  type JobDefinition,
  type JobDefinitions,
  job,
  type OutputOf,
  type PayloadOf,
  type ResultOf,
  type TopicOf,
} from './define/jobs.ts'
export type { JobSchedule } from './define/schedule.ts'
export { Cancel, PermanentError, Snooze } from './define/signals.ts'
export {
  type AllHandlers,
  type AnyHandler,
  defineWorkers,
  type Handlers,
  type PlainWorkers,
  type Worker,
  type Workers,
} from './define/workers.ts'
export { ERRORS, type ErrorCode, isOncueError, OncueError } from './errors.ts'
export type { EnqueueOptions, IfRunning, OnConflict, ParentFailurePolicy } from './job/enqueue-options.ts'
export type { JobError } from './job/failure.ts'
export { isJobId, type JobId, jobIdSchema, newJobId } from './job/id.ts'
export type { Job, JobSummary, NewJob } from './job/job.ts'
export { DEFAULTS, LIMITS } from './job/limits.ts'
export { prepareJob } from './job/prepare.ts'
export { type ErrorClass, type RetryOptions, type RetryPolicy, retryDelayMs } from './job/retry.ts'
export {
  FINISHED_STATUSES,
  type FinishedStatus,
  isFinished,
  JOB_STATUSES,
  type JobStatus,
  LIVE_STATUSES,
  type LiveStatus,
  PENDING_KINDS,
  type PendingKind,
  stateOf,
} from './job/states.ts'
