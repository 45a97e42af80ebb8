import type { Job, NewJob } from '@oncue/core'
import { isInline } from './portable/enqueue.ts'

/**
 * The column's type on Postgres, and how SQLite declares it: there times are integer milliseconds and JSON is
 * text.
 */
export const COLUMN_TYPES = {
  uuid: { postgres: 'uuid', sqlite: 'TEXT' },
  text: { postgres: 'text', sqlite: 'TEXT' },
  status: { postgres: 'oncue."Status"', sqlite: 'TEXT' },
  integer: { postgres: 'integer', sqlite: 'INTEGER' },
  smallint: { postgres: 'smallint', sqlite: 'INTEGER' },
  time: { postgres: 'timestamptz', sqlite: 'DATETIME' },
  json: { postgres: 'json', sqlite: 'JSONB' },
  jsonb: { postgres: 'jsonb', sqlite: 'JSONB' },
} as const

/**
 * Where a column takes part:
 * - `claim`: every claim returns it. It is also named in the `decode.ts` of both dialects, because a loop over
 *   columns takes 170 ns a job and an object literal 7. Never null, because fields are told apart by counting.
 * - `extras`: a claim returns it too, as an entry of one JSON object that is null when a job has none of them. For
 *   options that few jobs use; nothing else names it.
 * - `history`: moves there when the job ends. Columns that are not copied are set by each kind of end.
 * - `requeue`: moves back when the job is requeued. All other columns are reset.
 * - `replace`: a job that replaces a waiting one brings its own value.
 * - `list`: lists and `get` return it. `get`: only `get` does, because it may take a megabyte.
 */
export type Part = 'claim' | 'extras' | 'history' | 'requeue' | 'replace' | 'list' | 'get'

export type JobColumn = {
  readonly type: keyof typeof COLUMN_TYPES
  /** Set if only one of the two tables has it. */
  readonly only?: 'jobs' | 'history'
  /** The value in a new job. Absent: the store decides, or the table's default applies. */
  readonly enqueue?: (job: NewJob) => string | number | null
  /** Null in every job without a unique key. */
  readonly keyed?: true
  readonly in: readonly Part[]
  /** Above the inline limit it is stored in the table of payloads, as this part. */
  readonly big?: 'payload' | 'result'
  /** How history stores it, and how reads restore it, or derive it where history has no such column. */
  readonly stored?: string
  /** The field of a claim on Postgres, where it is not the column itself. */
  readonly claimed?: string
  readonly finished?: string
}

/** Empty where it equals `visible_at`, as in most jobs: writing and reading a time costs more than comparing two. */
function unlessVisibleAt(name: string): string {
  return `coalesce(nullif(j.${name}, j.visible_at)::text, '')`
}

/**
 * Every column of a job. Inserts, claims, the way to history and back, reads, their decoders, and the lists inside
 * the functions of Postgres are made of this; a test compares it with the Prisma models.
 *
 * A default that may change is never stored as null: an old job would get the new one. `run_at` is null in history
 * where it equals `created`, which loses nothing, holds for most jobs, and takes 8 bytes of WAL less.
 */
export const JOB_COLUMNS = {
  id: { type: 'uuid', enqueue: (job) => job.id, in: ['claim', 'history', 'requeue', 'list'] },
  run: { type: 'integer', in: ['claim', 'history', 'requeue', 'list'] },
  queue: { type: 'text', enqueue: (job) => job.queue, in: ['claim', 'history', 'requeue', 'list'] },
  topic: { type: 'text', enqueue: (job) => job.topic, in: ['claim', 'history', 'requeue', 'list'] },
  status: { type: 'status', in: ['list'] },
  payload: {
    type: 'json',
    enqueue: (job) => (isInline(job.payload) ? job.payload : null),
    big: 'payload',
    in: ['claim', 'history', 'requeue', 'replace', 'get'],
  },
  result: { type: 'json', only: 'history', big: 'result', in: ['get'] },
  priority: {
    type: 'smallint',
    enqueue: (job) => job.priority,
    in: ['claim', 'history', 'requeue', 'replace', 'list'],
  },
  run_at: {
    type: 'time',
    stored: 'nullif(run_at, created)',
    claimed: unlessVisibleAt('run_at'),
    finished: 'coalesce(n.run_at, n.created)',
    in: ['claim', 'history', 'list'],
  },
  visible_at: { type: 'time', only: 'jobs', in: ['claim', 'list'] },
  created: {
    type: 'time',
    claimed: unlessVisibleAt('created'),
    in: ['claim', 'history', 'requeue', 'list'],
  },
  updated: { type: 'time', only: 'jobs', finished: 'n.finished_at', in: ['list'] },
  started_at: { type: 'time', in: ['list'] },
  finished_at: { type: 'time', only: 'history', in: ['list'] },
  cancel_at: { type: 'time', only: 'jobs', in: ['list'] },
  locked_until: { type: 'time', only: 'jobs', in: ['list'] },
  locked_by: { type: 'uuid', in: ['list'] },
  retries: { type: 'smallint', in: ['claim', 'history', 'list'] },
  max_retries: {
    type: 'smallint',
    enqueue: (job) => job.maxRetries,
    in: ['claim', 'history', 'requeue', 'list'],
  },
  crashes: { type: 'smallint', in: ['claim', 'list'] },
  timeout_ms: {
    type: 'integer',
    enqueue: (job) => job.timeoutMs,
    in: ['claim', 'history', 'requeue', 'list'],
  },
  retry: {
    type: 'json',
    enqueue: (job) => (job.retry ? JSON.stringify(job.retry) : null),
    in: ['extras', 'history', 'requeue', 'list'],
  },
  unique_key: {
    type: 'text',
    enqueue: (job) => job.unique?.key ?? null,
    keyed: true,
    in: ['extras', 'history', 'requeue', 'list'],
  },
  // Null: its topic, as most keys have it.
  unique_scope: {
    type: 'text',
    enqueue: (job) => (job.unique?.scope === 'all' ? 'all' : null),
    keyed: true,
    in: ['history', 'requeue'],
  },
  concurrency_key: {
    type: 'text',
    enqueue: (job) => job.concurrencyKey,
    in: ['extras', 'history', 'requeue', 'list'],
  },
  concurrency_limit: {
    type: 'smallint',
    enqueue: (job) => job.concurrencyLimit,
    in: ['history', 'requeue', 'list'],
  },
  deps_left: { type: 'integer', only: 'jobs', finished: '0', in: ['list'] },
  parent_id: {
    type: 'uuid',
    enqueue: (job) => job.parentId,
    in: ['extras', 'history', 'requeue', 'list'],
  },
  replaced_by: { type: 'uuid', only: 'jobs', in: [] },
  // Null in every job that its last run did not suspend.
  waits: { type: 'json', only: 'jobs', in: ['extras', 'list'] },
  // Null in every job that has registered no undo.
  ending: { type: 'json', only: 'jobs', in: ['extras', 'list'] },
  cursor: { type: 'json', in: ['extras', 'history', 'requeue', 'list'] },
  progress: { type: 'json', in: ['history', 'requeue', 'list'] },
  last_error: { type: 'json', in: ['requeue', 'list'] },
  // The error of the last run, if it failed: a job that was requeued or has snoozed is not failing.
  fingerprint: { type: 'text', in: [] },
  trace: {
    type: 'text',
    enqueue: (job) => job.trace,
    in: ['extras', 'history', 'requeue', 'replace', 'list'],
  },
  meta: {
    type: 'jsonb',
    enqueue: (job) => job.meta,
    in: ['extras', 'history', 'requeue', 'replace', 'list'],
  },
} as const satisfies Record<string, JobColumn>

type Columns = typeof JOB_COLUMNS

export type TypeOf<Name extends keyof Columns> = Columns[Name]['type']

/** `run_at` → `runAt` */
export type FieldOf<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<FieldOf<Rest>>}`
  : Name

export type ColumnIn<P extends Part> = {
  [Name in keyof Columns]: Extract<Columns[Name]['in'][number], P> extends never ? never : Name
}[keyof Columns]

export type FieldIn<P extends Part> = FieldOf<ColumnIn<P>>

export type Extras = Pick<Job, FieldIn<'extras'>>

export type NamedColumn = JobColumn & { readonly name: string; readonly field: string }

/** In the order above. Modules call these while they load, and keep the SQL and decoders built from them. */
export function jobColumns(...parts: readonly Part[]): NamedColumn[] {
  return Object.entries<JobColumn>(JOB_COLUMNS)
    .filter(([, column]) => parts.length === 0 || parts.some((part) => column.in.includes(part)))
    .map(([name, column]) => ({ ...column, name, field: fieldOf(name) }))
}

export function columnNames(...parts: readonly Part[]): string[] {
  return jobColumns(...parts).map(({ name }) => name)
}

type EnqueuedColumn = NamedColumn & Required<Pick<JobColumn, 'enqueue'>>

/** The columns that a new job brings. */
export function enqueuedColumns(...parts: readonly Part[]): EnqueuedColumn[] {
  return jobColumns(...parts).filter((column): column is EnqueuedColumn => column.enqueue !== undefined)
}

/** `run_at` → `runAt` */
export function fieldOf(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The extras of a job that has none. */
export function noExtras(): Extras {
  return Object.fromEntries(jobColumns('extras').map(({ field }) => [field, null])) as Extras
}
