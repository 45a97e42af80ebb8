const DAY_MS = 86_400_000

/** What Oncue accepts. Above these a caller gets a named error; only error texts are cut silently. */
export const LIMITS = {
  /** UTF-8 bytes of the JSON of a payload, of a result, and of the result of a step. */
  payloadBytes: 1_048_576,
  /** Larger payloads and results live in their own table, so that a settle does not write them again. */
  inlineBytes: 2_048,
  metaBytes: 8_192,
  cursorBytes: 65_536,
  progressBytes: 8_192,
  /** Containers within containers. Far beyond real data, far below what overflows a stack. */
  jsonDepth: 200,
  /** Message, stack and causes of one failure, together; what is longer is cut. */
  lastErrorBytes: 16_384,
  topicLength: 128,
  queueLength: 128,
  keyLength: 255,
  traceLength: 255,
  /** A Postgres smallint. */
  priorityMin: -32_768,
  priorityMax: 32_767,
  maxRetries: 1_000,
  concurrencyLimit: 32_767,
  /** Jobs that one job may wait for. */
  parents: 1_000,
  /** Jobs of one batch, besides `then` and `onFailure`. */
  batchJobs: 10_000,
  flowNodes: 1_000,
  flowEdges: 10_000,
  flowNameLength: 128,
  /** How long a repeated call finds the job of the first. */
  idempotencyMs: DAY_MS,
  eventTypeLength: 64,
  /** For the data of an event; a finished step may be as large as a payload. */
  eventBytes: 65_536,
  stepNameLength: 255,
  signalNameLength: 128,
  /** Signals that one job keeps, whether it has received them or not: each of its runs reads them. */
  signals: 1_000,
  /** Events in one append. */
  events: 1_000,
  timeoutMs: 7 * DAY_MS,
  /** The longest delay between two runs, whatever the policy computes, and of a snooze. */
  retryDelayMs: 30 * DAY_MS,
  /** Ten years: a delay that is longer is a mistake of units. */
  delayMs: 3_650 * DAY_MS,
  /** 1970-01-01 and 9999-12-31: outside, ISO texts change their length and no longer sort. */
  dateMin: 0,
  dateMax: 253_402_300_799_999,
} as const

/** What applies where neither the definition nor the enqueue says otherwise. */
export const DEFAULTS = {
  queue: 'default',
  priority: 0,
  maxRetries: 3,
  timeoutMs: 600_000,
  leaseMs: 30_000,
  pollMs: 1_000,
  concurrency: 10,
} as const
