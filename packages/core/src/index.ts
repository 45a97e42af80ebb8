// What users write: definitions, handlers, options, errors. Shapes of the API: ./wire/index.ts.
export type { Handler, JobContext, JobLog, RunningJob } from './context.ts'
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
} from './define-job.ts'
export type { JobSchedule } from './define-schedule.ts'
export {
  type AllHandlers,
  type AnyHandler,
  defineWorkers,
  type Handlers,
  type PlainWorkers,
  type Worker,
  type Workers,
} from './define-workers.ts'
export type { EnqueueOptions, IfRunning, OnConflict, ParentFailurePolicy } from './enqueue-options.ts'
export { ERRORS, type ErrorCode, isOncueError, OncueError } from './errors.ts'
export type { JobError } from './failure.ts'
export { isJobId, type JobId, jobIdSchema, newJobId } from './id.ts'
export type { Job, JobSummary, NewJob } from './job.ts'
export { DEFAULTS, LIMITS } from './limits.ts'
export { prepareJob } from './prepare-job.ts'
export { type ErrorClass, type RetryOptions, type RetryPolicy, retryDelayMs } from './retry.ts'
export { Cancel, PermanentError, Snooze } from './signals.ts'
export {
  FINISHED_STATUSES,
  type FinishedStatus,
  isFinished,
  JOB_STATUSES,
  type JobStatus,
  LIVE_STATUSES,
  type LiveStatus,
} from './states.ts'
