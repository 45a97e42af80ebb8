import type { Job, JobId } from '@oncue/core'
import pg from 'pg'
import { type Extras, type FieldIn, jobColumns, noExtras } from '../job-columns.ts'
import type { ClaimedJob, RunRef } from '../store.ts'
import { ALL_SEEN, type Unseen } from './low-water.ts'

/** A row of work_row, by position. In rows that are not jobs most columns are null. */
type WorkRow = readonly unknown[]

type WorkField = FieldIn<'claim'> | 'kind' | 'extras'

const FIELDS = ['kind', ...jobColumns('claim').map(({ field }) => field), 'extras']
const AT = Object.fromEntries(FIELDS.map((field, n) => [field, n])) as Record<WorkField, number>

const NO_EXTRAS = noExtras()

export type Work = {
  readonly jobs: (ClaimedJob & { readonly visibleAt: Date })[]
  readonly stale: RunRef[]
  readonly cancelled?: RunRef[]
  readonly now: Date
  readonly nextDue: Date | null
  readonly unseen: Unseen
}

export function decodeWork(rows: readonly unknown[][]): Work {
  const jobs: Work['jobs'] = []
  const stale: RunRef[] = []
  const cancelled: RunRef[] = []
  let now = new Date(0)
  let nextDue: Date | null = null
  let unseen = ALL_SEEN
  for (const row of rows) {
    const kind = row[AT.kind]
    if (kind === 'j') jobs.push(claimedJob(row))
    else if (kind === 's') stale.push(runOf(row))
    else if (kind === 'x') cancelled.push(runOf(row))
    else {
      now = row[AT.visibleAt] as Date
      nextDue = row[AT.runAt] as Date | null
      unseen = (row[AT.extras] as Unseen | null) ?? ALL_SEEN
    }
  }
  sortLevels(jobs)
  return { jobs, stale, ...(cancelled.length > 0 && { cancelled }), now, nextDue, unseen }
}

function runOf(row: WorkRow): RunRef {
  return { id: row[AT.id] as JobId, run: row[AT.run] as number }
}

function claimedJob(row: WorkRow): Work['jobs'][number] {
  return {
    ...((row[AT.extras] as Extras | null) ?? NO_EXTRAS),
    id: row[AT.id] as Job['id'],
    run: row[AT.run] as Job['run'],
    queue: row[AT.queue] as Job['queue'],
    topic: row[AT.topic] as Job['topic'],
    payload: row[AT.payload],
    priority: row[AT.priority] as Job['priority'],
    runAt: row[AT.runAt] as Date,
    visibleAt: row[AT.visibleAt] as Date,
    created: row[AT.created] as Date,
    retries: row[AT.retries] as Job['retries'],
    maxRetries: row[AT.maxRetries] as Job['maxRetries'],
    crashes: row[AT.crashes] as Job['crashes'],
    timeoutMs: row[AT.timeoutMs] as Job['timeoutMs'],
  }
}

/** Claim order within each run of rows of one queue and priority, which come in the order of the table. */
function sortLevels(jobs: Work['jobs']): void {
  let start = 0
  for (let i = 1; i <= jobs.length; i++) {
    const [job, first] = [jobs[i], jobs[start]]
    if (job && first && job.queue === first.queue && job.priority === first.priority) continue
    const level = jobs.slice(start, i).sort(byDueTime)
    jobs.splice(start, level.length, ...level)
    start = i
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
