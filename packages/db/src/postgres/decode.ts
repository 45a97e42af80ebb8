import type { JobId } from '@oncue/core'
import pg from 'pg'
import { type Extras, type FieldIn, jobColumns, noExtras } from '../job-columns.ts'
import type { ClaimedJob, RunRef } from '../store.ts'
import { ALL_SEEN, type Unseen } from './low-water.ts'

/** A row of the type work_row of prisma/postgres/functions, by position. What a kind does not need is null. */
type WorkRow = readonly [
  kind: 'j' | 'p' | 's' | 'x' | 'u' | 'c',
  id: JobId,
  run: number,
  now: Date,
  due: Date | null,
  jobs: string,
  data: unknown,
]

const BETWEEN_JOBS = '\x1e'
const BETWEEN_FIELDS = '\x1f'

type WorkField = FieldIn<'claim'> | 'extras'

const CLAIMED = jobColumns('claim').filter(({ big }) => !big)
const FIELDS = [...CLAIMED.map(({ field }) => field), 'extras', 'payload']
const AT = Object.fromEntries(FIELDS.map((field, n) => [field, n])) as Record<WorkField, number>

const NO_EXTRAS = noExtras()
const MOST_NAMES = 1_000

export type Work = {
  readonly jobs: (ClaimedJob & { readonly visibleAt: Date })[]
  readonly stale: RunRef[]
  readonly cancelled?: RunRef[]
  readonly undoing?: RunRef[]
  readonly now: Date
  readonly nextDue: Date | null
  readonly unseen: Unseen
}

export function decodeWork(rows: readonly unknown[][]): Work {
  const jobs: Work['jobs'] = []
  const payloads = new Map<JobId, unknown>()
  const stale: RunRef[] = []
  const cancelled: RunRef[] = []
  const undoing: RunRef[] = []
  let [now, nextDue, unseen]: [Date, Date | null, Unseen] = [new Date(0), null, ALL_SEEN]
  for (const row of rows) {
    const [kind, id, run, ...[time, due, text, data]] = row as unknown as WorkRow
    if (kind === 'j') for (const job of text.split(BETWEEN_JOBS)) jobs.push(claimedJob(job, payloads))
    else if (kind === 'p') payloads.set(id, data)
    else if (kind === 's') stale.push({ id, run })
    else if (kind === 'x') cancelled.push({ id, run })
    else if (kind === 'u') undoing.push({ id, run })
    else [now, nextDue, unseen] = [time, due, (data as Unseen | null) ?? ALL_SEEN]
  }
  sortLevels(jobs)
  const told = { ...(cancelled.length > 0 && { cancelled }), ...(undoing.length > 0 && { undoing }) }
  return { jobs, stale, ...told, now, nextDue, unseen }
}

type DecodedJob = { -readonly [Field in keyof Work['jobs'][number]]: Work['jobs'][number][Field] }

/**
 * Every job starts as a copy of this, so that all have one shape with room for all fields: adding them one by one to
 * the extras moves them several times. It comes from JSON because such an object keeps all fields within itself.
 */
const BLANK = JSON.parse(
  JSON.stringify({
    ...NO_EXTRAS,
    ...Object.fromEntries(CLAIMED.map(({ field }) => [field, ''])),
    payload: '',
  }),
) as DecodedJob

function claimedJob(text: string, payloads: ReadonlyMap<JobId, unknown>): DecodedJob {
  const fields = text.split(BETWEEN_FIELDS)
  const job: DecodedJob = { ...BLANK }
  const extras = fields[AT.extras] as string
  if (extras !== '') Object.assign(job, JSON.parse(extras) as Extras)
  const payload = fields[AT.payload]
  const visibleAt = parseTime(fields[AT.visibleAt] as string)
  job.id = copied(fields[AT.id] as string)
  job.run = Number(fields[AT.run])
  job.queue = shared(fields[AT.queue] as string)
  job.topic = shared(fields[AT.topic] as string)
  job.payload = payload === undefined ? (payloads.get(job.id) ?? null) : JSON.parse(payload)
  job.priority = Number(fields[AT.priority])
  job.runAt = timeOr(fields[AT.runAt] as string, visibleAt)
  job.visibleAt = visibleAt
  job.created = timeOr(fields[AT.created] as string, visibleAt)
  job.retries = Number(fields[AT.retries])
  job.maxRetries = Number(fields[AT.maxRetries])
  job.crashes = Number(fields[AT.crashes])
  job.timeoutMs = Number(fields[AT.timeoutMs])
  return job
}

/** A part of a string keeps all of it in memory: here, the text of hundreds of jobs. */
function copied(part: string): string {
  return ` ${part}`.slice(1)
}

/** Names of queues and topics, of which a worker has few. */
const names = new Map<string, string>()

function shared(part: string): string {
  const known = names.get(part)
  if (known !== undefined) return known
  if (names.size >= MOST_NAMES) names.clear()
  const name = copied(part)
  names.set(name, name)
  return name
}

function timeOr(text: string, fallback: Date): Date {
  return text === '' ? new Date(fallback) : parseTime(text)
}

/** Claim order within each run of rows of one queue and priority, which come in the order of the table. */
function sortLevels(jobs: Work['jobs']): void {
  let start = 0
  let isSorted = true
  for (let i = 1; i <= jobs.length; i++) {
    const [job, before] = [jobs[i], jobs[i - 1]]
    if (job && before && job.queue === before.queue && job.priority === before.priority) {
      isSorted &&= byDueTime(before, job) < 0
      continue
    }
    // The table has most jobs in this order already.
    if (!isSorted) jobs.splice(start, i - start, ...jobs.slice(start, i).sort(byDueTime))
    start = i
    isSorted = true
  }
}

function byDueTime(a: Work['jobs'][number], b: Work['jobs'][number]): number {
  return a.visibleAt.getTime() - b.visibleAt.getTime() || (a.id < b.id ? -1 : 1)
}

const { builtins } = pg.types

/**
 * Our own parsers for each query, whatever the host application has set globally on `pg.types`
 * (dates as text and JSON as text are common).
 */
export const TYPES: pg.CustomTypesConfig = {
  getTypeParser(oid: number) {
    if (oid === builtins.TIMESTAMPTZ) return parseTime
    if (oid === builtins.JSON || oid === builtins.JSONB) return JSON.parse
    if (oid === builtins.INT2 || oid === builtins.INT4 || oid === builtins.INT8 || oid === builtins.FLOAT8)
      return Number
    if (oid === builtins.BOOL) return (text: string) => text === 't'
    return (text: string) => text
  },
}

/** The same, with JSON as text, which Prisma parses itself. */
export const NATIVE_TYPES: pg.CustomTypesConfig = {
  getTypeParser(oid: number) {
    if (oid === builtins.JSON || oid === builtins.JSONB) return (text: string) => text
    return TYPES.getTypeParser(oid)
  },
}

/** Jobs of one batch share their times: most texts equal the one before. */
let lastText = ''
let lastTime = 0

/** `2026-11-16 02:03:04.567+00` → the same with the T and minutes that Date.parse wants. */
function parseTime(text: string): Date {
  if (text !== lastText) {
    const offset = /[+-]\d\d$/.test(text) ? ':00' : ''
    lastTime = Date.parse(`${text.slice(0, 10)}T${text.slice(11)}${offset}`)
    lastText = text
  }
  return new Date(lastTime)
}
