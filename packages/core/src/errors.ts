/** The error codes of tRPC v11 that Oncue returns; named here so that core needs no tRPC. */
type TrpcCode =
  | 'BAD_REQUEST'
  | 'CONFLICT'
  | 'FORBIDDEN'
  | 'GATEWAY_TIMEOUT'
  | 'INTERNAL_SERVER_ERROR'
  | 'METHOD_NOT_SUPPORTED'
  | 'NOT_FOUND'
  | 'PAYLOAD_TOO_LARGE'
  | 'SERVICE_UNAVAILABLE'
  | 'TOO_MANY_REQUESTS'
  | 'UNAUTHORIZED'
  | 'UNSUPPORTED_MEDIA_TYPE'

interface ErrorSpec {
  readonly http: number
  readonly trpc: TrpcCode
  /** The same call may succeed later, unchanged. */
  readonly retryable: boolean
  /** What to do. An error may have a more precise hint. */
  readonly hint: string
}

const badRequest = (hint: string) => ({ http: 400, trpc: 'BAD_REQUEST', retryable: false, hint }) as const
const forbidden = (hint: string) => ({ http: 403, trpc: 'FORBIDDEN', retryable: false, hint }) as const
const notFound = (hint: string) => ({ http: 404, trpc: 'NOT_FOUND', retryable: false, hint }) as const
const conflict = (hint: string) => ({ http: 409, trpc: 'CONFLICT', retryable: false, hint }) as const
const tooLarge = (hint: string) => ({ http: 413, trpc: 'PAYLOAD_TOO_LARGE', retryable: false, hint }) as const
const broken = (hint: string) =>
  ({ http: 500, trpc: 'INTERNAL_SERVER_ERROR', retryable: false, hint }) as const
const down = (hint: string) => ({ http: 503, trpc: 'SERVICE_UNAVAILABLE', retryable: false, hint }) as const
const busy = (hint: string) => ({ http: 503, trpc: 'SERVICE_UNAVAILABLE', retryable: true, hint }) as const

/** Every error a user of Oncue can meet. `docs/errors.md` is tested against this table, both ways. */
export const ERRORS = {
  // Input of the caller
  INVALID_INPUT: badRequest('Correct the field named in the message.'),
  INVALID_TOPIC: badRequest(
    'Use letters, digits and _ . - /, at most 128 characters, with at most one "app:" prefix.',
  ),
  INVALID_QUEUE: badRequest('Use letters, digits and _ . - /, at most 128 characters.'),
  INVALID_PRIORITY: badRequest('Use a whole number from -32768 to 32767; higher runs first.'),
  INVALID_DATE: badRequest('Use a valid Date between 1970-01-01 and 9999-12-31.'),
  INVALID_TEXT: badRequest('Remove NUL characters and lone surrogates; send binary data as base64.'),
  INVALID_PAYLOAD: badRequest('Send plain JSON that fits the input schema of the topic.'),
  UNSAFE_NUMBER: badRequest('Send it as a string: JSON readers lose digits of integers beyond 2^53 - 1.'),
  PAYLOAD_TOO_LARGE: tooLarge('Store the data elsewhere and send a reference to it.'),
  META_TOO_LARGE: tooLarge('Put only what you filter by into meta, and the rest into the payload.'),
  BATCH_TOO_LARGE: tooLarge('Send fewer items in one request.'),
  DEPENDENCY_CYCLE: badRequest(
    'Remove one of these dependencies: a job cannot wait for itself, directly or indirectly.',
  ),
  INVALID_CURSOR: badRequest('Use the cursor of the previous page, with the same filter, or none.'),
  INVALID_CRON: badRequest('Use five or six cron fields and an IANA time zone, such as Asia/Shanghai.'),
  UNSUPPORTED_TRANSACTION: badRequest(
    'Pass the `tx` of Prisma, a `pg` client, a better-sqlite3 connection, or an object with query(sql, params).',
  ),
  INVALID_DATABASE_URL: badRequest('Use postgres://…, file:./path/to/oncue.db or :memory:.'),
  INVALID_SCHEMA: badRequest(
    'Use a name such as billing: a-z, 0-9 and _, at most 32 characters, no SQL reserved word.',
  ),
  INVALID_MODULE: badRequest('Fix the module named in the message, then start the worker again.'),
  NO_MODULE: notFound('Write a module that exports `workers`, or name it with --import.'),

  // Credentials and permissions
  UNAUTHORIZED: {
    http: 401,
    trpc: 'UNAUTHORIZED',
    retryable: false,
    hint: 'Send a valid token as "Authorization: Bearer oncue_…", or sign in.',
  },
  FORBIDDEN: forbidden('Use a token whose role may do this, or ask an admin for one.'),
  TOPIC_NOT_ALLOWED: forbidden('Use a token that may enqueue this topic, or ask an admin to allow it.'),
  QUEUE_NOT_ALLOWED: forbidden('Use a token that may enqueue into this queue, or ask an admin to allow it.'),
  HTTP_DISABLED: forbidden(
    'Ask an admin to turn the API on (setting httpEnabled); until then it serves only admins.',
  ),
  RATE_LIMITED: {
    http: 429,
    trpc: 'TOO_MANY_REQUESTS',
    retryable: true,
    hint: 'Wait as long as the retry-after header says; send jobs in batches.',
  },
  JWKS_UNAVAILABLE: busy('Check that the API can reach ONCUE_JWKS_URL, then repeat the call.'),
  TOKEN_NOT_FOUND: notFound('Check the id in the list of tokens.'),
  NOT_FOUND: notFound('Check the path: /docs lists all paths.'),
  METHOD_NOT_ALLOWED: {
    http: 405,
    trpc: 'METHOD_NOT_SUPPORTED',
    retryable: false,
    hint: 'Use the HTTP method listed for this path in /docs.',
  },
  INVALID_JSON: badRequest('Send a body that is valid JSON, in UTF-8.'),
  UNSUPPORTED_MEDIA_TYPE: {
    http: 415,
    trpc: 'UNSUPPORTED_MEDIA_TYPE',
    retryable: false,
    hint: 'Send the header "content-type: application/json".',
  },

  // State of the job
  UNKNOWN_PARENT: notFound('Enqueue the parent first, or in the same call.'),
  SCHEDULE_NOT_FOUND: notFound('Check the name; schedules in code exist once a worker has announced them.'),
  SCHEDULE_IN_CODE: conflict(
    'Change it in the code that declares it, choose another name, or send takeOver: true.',
  ),
  UNKNOWN_TOPIC: notFound('Define the topic with defineJobs, or start a worker that handles it.'),
  JOB_NOT_FOUND: notFound('Check the id; finished jobs are pruned after the retention time.'),
  INVALID_STATE: conflict('Read the job again: its status does not allow this action.'),
  JOB_CHANGED: conflict('Read the job again, then send your change with its new `run` and `updated`.'),
  JOB_FINISHED: conflict('Nothing can be sent to a finished job; requeue it first if it is to run again.'),
  TOO_MANY_SIGNALS: conflict('Let the job end and enqueue another, or send less: a job keeps its signals.'),
  UNKNOWN_SIGNAL: badRequest('Use one of the signals that the definition of the topic names.'),
  INVALID_SIGNAL: badRequest('Send plain JSON that fits the schema of this signal.'),
  STEP_NOT_FOUND: notFound(
    'Name a step that is recorded, as the timeline of the job tells; a plain requeue repeats those that are not.',
  ),
  NOT_ASKED: notFound(
    'Read the open questions of the job with `oncue questions` or `jobs.questions`: its handler asks each by a name.',
  ),
  ALREADY_ANSWERED: conflict('Nothing to do: the first answer counts.'),
  QUESTION_TIMED_OUT: conflict(
    'The job went on without an answer; requeue it once it has ended, if it should ask again.',
  ),
  INVALID_ANSWER: badRequest('Send plain JSON that fits the schema of the question.'),
  UNIQUE_KEY_LIVE: conflict('Another job holds this unique key: wait for it, replace it, or use its id.'),
  VERSION_MISMATCH: conflict('Another writer appended first: read the events again, then retry the append.'),
  STALE_RUN: conflict('Discard the result: the job was cancelled, or another run owns it.'),
  DUPLICATE_ID: conflict('If this is a retry, the first call succeeded; otherwise prepare a new job.'),

  // Bulk operations, alerts and pairing
  COUNT_MISMATCH: conflict('Preview the bulk operation again, and send the count and asOf that it returns.'),
  FAILED_AGAIN: conflict(
    'Look at the error of these jobs and fix its cause, then start the bulk operation again.',
  ),
  WORKER_NOT_FOUND: notFound('Check the id in workers.list; ended workers are kept for 7 days.'),
  BULK_OPERATION_NOT_FOUND: notFound(
    'Check the id in bulkOperations.list; finished bulk operations are kept for 90 days.',
  ),
  ALERT_NOT_FOUND: notFound('Check the id; resolved alerts are removed after the retention time.'),
  ALERT_RULE_NOT_FOUND: notFound('Check the id in alerts.rules.'),
  CHANNEL_NOT_FOUND: notFound('Check the id in channels.list.'),
  ADDRESS_NOT_ALLOWED: badRequest(
    'Use a public address, or allow private ones with ONCUE_WEBHOOK_PRIVATE_ADDRESSES=true.',
  ),
  PAIRING_REFUSED: forbidden('Create a new code: this one is wrong, used or expired.'),

  // Outcomes of a run
  NESTED_CALL: broken('Make durable calls of ctx from the handler, not within a step or a commit.'),
  NOT_AWAITED: broken('Await every step, commit, undo and spawn before ctx.complete, which comes last.'),
  TRANSACTIONS_NEEDED: broken(
    'Pass `{ transactions: transactionsOf({ … }) }` to defineWorkers, with the connection of your service.',
  ),
  COMPLETE_ROLLED_BACK: {
    http: 500,
    trpc: 'INTERNAL_SERVER_ERROR',
    retryable: true,
    hint: 'Let the handler throw what its transaction threw, and return only after the commit; the job is retried.',
  },
  SPAWN_CHANGED: broken(
    'Give the call a name, and spawn the same topic and payload under it in every run; what may differ belongs in a step.',
  ),
  CHILDREN_FAILED: broken('Fix the errors of the children, then requeue one of them.'),
  RESULTS_TOO_LARGE: {
    http: 413,
    trpc: 'PAYLOAD_TOO_LARGE',
    retryable: false,
    hint: 'Wait for fewer children at a time, or let each return a reference, such as an id, instead of the data.',
  },
  DUPLICATE_STEP: broken(
    'Give each step and each sleep of a run its own name, for example with the id of the item in it.',
  ),
  UNDO_FAILED: broken(
    'Undo by hand what the message names. A requeue repeats the steps whose undo ran, and keeps the others.',
  ),
  UNDO_MISSING: broken(
    'Deploy code that comes to this ctx.undo again, or undo by hand what the message names. Keep the names of steps and undos.',
  ),
  STEP_TIMEOUT: {
    http: 504,
    trpc: 'GATEWAY_TIMEOUT',
    retryable: true,
    hint: 'Raise the timeout of the step, or pass its signal on so that slow calls stop in time.',
  },
  JOB_SUSPENDED: conflict(
    'Nothing to do: the run left its worker, and the job goes on when its wait is over.',
  ),
  INVALID_RESULT: broken('Return plain JSON that fits the output schema of the topic.'),
  JOB_TIMEOUT: {
    http: 504,
    trpc: 'GATEWAY_TIMEOUT',
    retryable: true,
    hint: 'Raise timeoutMs, split the job, or pass ctx.signal on so that slow calls stop in time.',
  },
  JOB_CANCELLED: conflict('Nothing to do: the job was cancelled. Requeue it if you need it after all.'),
  JOB_FAILED: broken("Fix the handler's error in details.error, then requeue the job."),
  WORKER_STOPPING: busy(
    'Nothing to do: the job was released without using a retry, and another worker runs it.',
  ),
  PARENT_FAILED: broken('Requeue the parent first, then this job.'),
  WORKER_CRASHED: {
    http: 500,
    trpc: 'INTERNAL_SERVER_ERROR',
    retryable: true,
    hint: "Check the worker's exit code and memory at that time; the job runs again automatically.",
  },

  // The database
  DATABASE_UNAVAILABLE: busy(
    'Check the URL (host, port, user, password, database) and that the database is up, then repeat the call.',
  ),
  DATABASE_BUSY: busy('Repeat the call; if it persists, look for long transactions or a full pool.'),
  DATABASE_CONFLICT: busy('Repeat the transaction: another one won a serialization conflict or deadlock.'),
  DATABASE_FULL: {
    ...busy('Free disk space on the database host, then repeat the call.'),
    http: 507,
  },
  DATABASE_READ_ONLY: down('Connect to the primary: this is a replica, or a file without write permission.'),
  UNSUPPORTED_ISOLATION: down(
    "Run `alter role … set default_transaction_isolation = 'read committed'`: it cannot be set through a transaction pooler.",
  ),
  DATABASE_REFUSED: broken('Repeating will not help: read the cause for the value and the constraint.'),
  OTHER_DATABASE: broken(
    'Give `transactions` a connection to the database of the worker: the same server, database and schema, or the same file.',
  ),
  DATABASE_ERROR: broken('Read the cause: the database reported an unknown error.'),
  STORE_CLOSED: broken('Do not use a store or queue after close().'),
  MIGRATION_NEEDED: down('Run `npx oncue migrate` against this database.'),
  MIGRATION_CHANGED: broken('Restore the original migration file: an applied migration must never change.'),
  MIGRATION_FAILED: broken('Read the cause, fix it and migrate again; the failed migration was rolled back.'),
  SCHEMA_TOO_NEW: down('Upgrade this process: a newer version of Oncue has migrated the database.'),

  // Connection to the API
  NETWORK_ERROR: busy('Check the URL, and that the API is up and reachable.'),
  REQUEST_TIMEOUT: {
    http: 504,
    trpc: 'GATEWAY_TIMEOUT',
    retryable: true,
    hint: 'Repeat the call, or give the client a longer timeoutMs.',
  },
  WAIT_TIMEOUT: {
    http: 504,
    trpc: 'GATEWAY_TIMEOUT',
    retryable: true,
    hint: 'The job has not ended: wait again, or longer.',
  },

  // The process
  UNSUPPORTED_NODE: broken('Use the Node.js version named in the message.'),
  UNSUPPORTED_RUNTIME: broken('Run this part with Node.js.'),
  SQLITE_DRIVER_MISSING: broken(
    'Install better-sqlite3 (in a bundle it is `external`, beside what the bundler writes), or use Node.js 22.16 or newer.',
  ),
  CODE_MISSING: broken('Reinstall @oncue/worker, and build the bundle again.'),
  INTERNAL: broken('This is a bug in Oncue: please report it with the message and the cause.'),
} as const satisfies Record<string, ErrorSpec>

/** The code of an error; docs/errors.md says what each means and what to do. */
export type ErrorCode = keyof typeof ERRORS

/** A registered symbol, so that two copies of this package recognise each other's errors. */
const BRAND: unique symbol = Symbol.for('oncue.error')

interface OncueErrorOptions {
  readonly details?: Record<string, unknown> | undefined
  readonly cause?: unknown
  readonly hint?: string | undefined
}

/** Every error of Oncue: what is wrong, what to do, and a code that programs can rely on. */
export class OncueError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'OncueError'
  readonly code: Code
  readonly hint: string
  readonly retryable: boolean
  readonly details: Record<string, unknown> | undefined

  constructor(code: Code, message: string, options: OncueErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.hint = options.hint ?? ERRORS[code].hint
    this.retryable = ERRORS[code].retryable
    this.details = options.details
  }

  get [BRAND](): true {
    return true
  }

  /** What REST returns as `error`: no stack and no cause, which may hold secrets. */
  toJSON(): { code: Code; message: string; hint: string; details?: Record<string, unknown> } {
    const { code, message, hint, details } = this
    return details ? { code, message, hint, details } : { code, message, hint }
  }
}

/** Whether an error is one of Oncue, also of another copy of this package; with a code: whether it is that one. */
export function isOncueError(error: unknown): error is OncueError
export function isOncueError<Code extends ErrorCode>(error: unknown, code: Code): error is OncueError<Code>
export function isOncueError(error: unknown, code?: ErrorCode): boolean {
  if (typeof error !== 'object' || error === null || !(BRAND in error)) return false
  return code === undefined || (error as OncueError).code === code
}
