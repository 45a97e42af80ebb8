export {
  defineJob,
  defineJobs,
  type EnqueueOptions,
  ERRORS,
  type ErrorCode,
  type InputOf,
  isFinished,
  isJobId,
  isOncueError,
  type Job,
  type JobConfig,
  type JobDefinition,
  type JobDefinitions,
  type JobError,
  type JobId,
  type JobStatus,
  type JobSummary,
  job,
  OncueError,
  type OutputOf,
  type PayloadOf,
  type ResultOf,
  type RetryOptions,
  stateOf,
  type TopicOf,
} from '@oncue/core'
export {
  completeSearch,
  diffJson,
  type FilterStatus,
  type JsonChange,
  parseSearch,
  type Role,
  type SearchReading,
  type WatchMessage,
  WORKER_SILENT_MS,
} from '@oncue/core/wire'
export type { CallOptions, Calls, Inputs, Outputs } from './api.ts'
export { type Client, type ClientOptions, createClient } from './client.ts'
export type {
  EnqueuedOrRefused,
  EnqueueManyReport,
  JobRef,
  JobsClient,
  JobToEnqueue,
  Step,
  TargetOfAction,
  WatchedMessage,
  WatchOptions,
} from './jobs.ts'
export type { SchedulesClient, ScheduleToSave } from './schedules.ts'
export type { Session } from './session.ts'
export type { WaitOptions } from './wait.ts'
