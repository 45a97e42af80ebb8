// What users write: definitions, handlers, options, errors. Shapes of the API: ./wire/index.ts.
export {
  type Child,
  ChildrenFailed,
  type FailedChild,
  type ResultsOf,
  type SettledChild,
  type SettledOf,
} from './define/children.ts'
export type {
  Answered,
  AskOptions,
  Handler,
  JobContext,
  JobLog,
  Received,
  RunningJob,
  SpawnOptions,
  WaitedFor,
} from './define/context.ts'
export {
  type DefinedJob,
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
  type ProgressInputOf,
  type ProgressOf,
  type ResultOf,
  type SignalDataOf,
  type SignalInputOf,
  type SignalInputs,
  type SignalOf,
  type SignalSchemas,
  type TopicOf,
} from './define/jobs.ts'
export type { JobSchedule } from './define/schedule.ts'
export { Cancel, PermanentError, Snooze } from './define/signals.ts'
export { StepError } from './define/step-error.ts'
export type { Duration, EachOptions, Step, StepOptions, ToldStep, ToolStep } from './define/steps.ts'
export type { Commit, Complete, NoTransactions, Transactions } from './define/transactions.ts'
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
export type { Job, JobEnding, JobSummary, JobWaits, NewJob } from './job/job.ts'
export { DEFAULTS, LIMITS } from './job/limits.ts'
export { prepareJob } from './job/prepare.ts'
export { type ReplayedCall, type ReplayedJob, replay, type StoredEvent, withEnds } from './job/replay.ts'
export { type ErrorClass, type RetryOptions, type RetryPolicy, retryDelayMs } from './job/retry.ts'
export type { InputOfSchema, OutputOfSchema, Schema, StandardIssue, StandardSchema } from './job/schema.ts'
export {
  FINISHED_STATUSES,
  type FinishedStatus,
  isFinished,
  JOB_STATUSES,
  type JobState,
  type JobStatus,
  LIVE_STATUSES,
  type LiveStatus,
  PENDING_KINDS,
  type PendingKind,
  stateOf,
} from './job/states.ts'
