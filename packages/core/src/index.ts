export {
  ACCESS_CLASSES,
  type AccessClass,
  type AccessRule,
  allowedQueuesSchema,
  allowedTopicsSchema,
  allows,
  allowsName,
  type Caller,
  DEFAULT_SETTINGS,
  isAtMost,
  ROLES,
  type Role,
  roleSchema,
  ruleSchema,
  SETTING_NAMES,
  type SettingName,
  type Settings,
  settingsSchema,
  topicPatternSchema,
} from './access.ts'
export {
  DEFAULT_ALERT_RULES,
  FAILURE_MIN_RUNS,
  FAILURE_WINDOW_MS,
  STALL_WINDOW_MS,
} from './alert-defaults.ts'
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
  readWorkers,
  type Worker,
  type Workers,
} from './define-workers.ts'
export {
  type EnqueueOptions,
  enqueueOptionsSchema,
  type IfRunning,
  type OnConflict,
  PARENT_FAILURE_POLICIES,
  type ParentFailurePolicy,
} from './enqueue-options.ts'
export { ERRORS, type ErrorCode, isOncueError, OncueError } from './errors.ts'
export { describeError, type JobError, jobErrorSchema } from './failure.ts'
export { createJobIds, isJobId, type JobId, jobIdSchema, type NewJobId, newJobId } from './id.ts'
export { toInputError } from './input-error.ts'
export { INTERNAL_QUEUE, INTERNAL_TOPIC_PREFIX } from './internal.ts'
export {
  type Job,
  type JobSummary,
  jobSchema,
  jobStatusSchema,
  jobSummarySchema,
  type NewJob,
  type UniqueRule,
} from './job.ts'
export { encodeJson, type JsonKind } from './json.ts'
export { DEFAULTS, LIMITS } from './limits.ts'
export { escapeLogLine } from './log-line.ts'
export { assertQueue, assertTopic, queueSchema, topicSchema } from './names.ts'
export { formatPath } from './path.ts'
export { prepareJob } from './prepare-job.ts'
export { type Registry, type TopicDescription, toRegistry } from './registry.ts'
export {
  type CrashVerdict,
  crashVerdict,
  decideRetry,
  type RetryOptions,
  type RetryPolicy,
  retryDelayMs,
  retryOptionsSchema,
  retryPolicySchema,
} from './retry.ts'
export { type ErrorClass, isRetriedKind } from './retry-on.ts'
export { asSignal, Cancel, PermanentError, type Signal, Snooze, signalOf } from './signals.ts'
export {
  canTransition,
  FINISHED_STATUSES,
  type FinishedStatus,
  isFinished,
  JOB_STATUSES,
  type JobStatus,
  LIVE_STATUSES,
  type LiveStatus,
  TRANSITIONS,
  type TransitionName,
} from './states.ts'
export { assertText, cleanText, truncateUtf8, utf8Length } from './text.ts'
export { unknownTopic } from './unknown-topic.ts'
export { parsePayload, parseResult } from './validate.ts'
export {
  type EnqueueRequest,
  type ErrorResponse,
  enqueueRequestSchema,
  errorResponseSchema,
  isoDateSchema,
  type Rest,
  restEnqueueRequestSchema,
  type StatsResponse,
  statsResponseSchema,
  toRest,
} from './wire.ts'
export {
  auditPageSchema,
  auditRequestSchema,
  createdTokenSchema,
  createTokenRequestSchema,
  listTokensRequestSchema,
  meSchema,
  revokedTokenSchema,
  settingsRequestSchema,
  settingsResponseSchema,
  signInRequestSchema,
  tokenIdSchema,
  tokenSchema,
} from './wire-access.ts'
export {
  announcedTopicSchema,
  configureQueueRequestSchema,
  limitRequestSchema,
  limitSchema,
  queueOverviewSchema,
  queueRequestSchema,
  scheduleNameSchema,
  scheduleRequestSchema,
  scheduleSchema,
  workerSchema,
} from './wire-admin.ts'
export {
  ALERT_KINDS,
  ALERT_STATES,
  type Alert,
  type AlertKind,
  type AlertRule,
  alertIdSchema,
  alertPageSchema,
  alertRuleIdSchema,
  alertRuleSchema,
  alertSchema,
  CHANNEL_KINDS,
  type Channel,
  channelIdSchema,
  channelSchema,
  createAlertRuleRequestSchema,
  createChannelRequestSchema,
  createdChannelSchema,
  deliverySchema,
  listAlertsRequestSchema,
  snoozeRequestSchema,
  updateAlertRuleRequestSchema,
  updateChannelRequestSchema,
} from './wire-alerts.ts'
export { changeAt, decodeDates, encodeDates, type WithDates } from './wire-dates.ts'
export {
  createPairingRequestSchema,
  type Device,
  deviceIdSchema,
  deviceRoleSchema,
  deviceSchema,
  exchangePairingRequestSchema,
  pairedSchema,
  pairingSchema,
  registerPushRequestSchema,
  renameDeviceRequestSchema,
} from './wire-devices.ts'
export {
  gaugePointSchema,
  gaugesRequestSchema,
  type Health,
  healthSchema,
  LEVELS,
  MAX_HEALTH_QUEUES,
  QUEUE_STATES,
  type QueueHealth,
  type QueueState,
  queueHealthSchema,
  SPARK_MINUTES,
} from './wire-health.ts'
export {
  actedFilterSchema,
  actionReportSchema,
  type Enqueued,
  type EnqueueItem,
  enqueuedSchema,
  enqueueItemSchema,
  enqueueManyRequestSchema,
  enqueueManyResponseSchema,
  failureGroupSchema,
  failuresRequestSchema,
  type JobTarget,
  jobDetailsSchema,
  jobEventSchema,
  jobEventsRequestSchema,
  jobEventsSchema,
  jobFilterSchema,
  jobPageSchema,
  jobStateSchema,
  jobStatsRequestSchema,
  jobStatsSchema,
  jobTargetSchema,
  listJobsRequestSchema,
  MAX_BATCH,
  restEnqueueItemSchema,
  seriesPointSchema,
  seriesRequestSchema,
  TREND_PARTS,
  type WatchMessage,
  waitRequestSchema,
  waitResponseSchema,
  watchMessageSchema,
  watchRequestSchema,
} from './wire-jobs.ts'
export {
  listOperationsRequestSchema,
  OPERATION_ACTIONS,
  OPERATION_STATUSES,
  type Operation,
  type OperationAction,
  operationIdSchema,
  operationPageSchema,
  operationRequestSchema,
  operationSchema,
  previewRequestSchema,
  previewSchema,
  watchOperationRequestSchema,
} from './wire-operations.ts'
