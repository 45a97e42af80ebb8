import type { JobId } from '@oncue/core'
import pg from 'pg'
import type { ClaimedJob, RunRef } from '../store.ts'
import { ALL_SEEN, type Unseen } from './low-water.ts'

/** One row of the type work_row, column by column. */
type WorkRow = [
  kind: 'j' | 's' | 'x' | 'c',
  id: JobId,
  run: number,
  queue: string,
  topic: string,
  payload: unknown,
  priority: number,
  runAt: Date | null,
  visibleAt: Date,
  created: Date,
  retries: number,
  maxRetries: number,
  crashes: number,
  timeoutMs: number,
  extras: Extras | null,
]

/** What most jobs do not have. */
type Extras = Pick<
  ClaimedJob,
  'retry' | 'parentId' | 'cursor' | 'trace' | 'meta' | 'uniqueKey' | 'concurrencyKey'
>

const NO_EXTRAS: Extras = {
  retry: null,
  parentId: null,
  cursor: null,
  trace: null,
  meta: null,
  uniqueKey: null,
  concurrencyKey: null,
}

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
  for (const row of rows as WorkRow[]) {
    if (row[0] === 'j') jobs.push(claimedJob(row))
    else if (row[0] === 's') stale.push({ id: row[1], run: row[2] })
    else if (row[0] === 'x') cancelled.push({ id: row[1], run: row[2] })
    else {
      now = row[8]
      nextDue = row[7]
      if (row[5] !== null) unseen = row[5] as Unseen
    }
  }
  sortLevels(jobs)
  return { jobs, stale, ...(cancelled.length > 0 && { cancelled }), now, nextDue, unseen }
}

function claimedJob(row: WorkRow): Work['jobs'][number] {
  const extras = row[14] ?? NO_EXTRAS
  return {
    id: row[1],
    run: row[2],
    queue: row[3],
    topic: row[4],
    payload: row[5],
    priority: row[6],
    runAt: row[7] ?? row[8],
    visibleAt: row[8],
    created: row[9],
    retries: row[10],
    maxRetries: row[11],
    crashes: row[12],
    timeoutMs: row[13],
    retry: extras.retry,
    parentId: extras.parentId,
    cursor: extras.cursor,
    trace: extras.trace,
    meta: extras.meta,
    uniqueKey: extras.uniqueKey,
    concurrencyKey: extras.concurrencyKey,
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

/** Jobs of one batch share their times: most texts are the one before. */
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
