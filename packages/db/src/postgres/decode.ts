import type { JobId } from '@oncue/core'
import pg from 'pg'
import type { ClaimedJob, RunRef } from '../store.ts'

/** One row of work_row_v1, column by column. */
type WorkRow = [
  kind: 'j' | 's' | 'c',
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
  retry: ClaimedJob['retry'],
  timeoutMs: number,
  parentId: JobId | null,
  cursor: unknown,
  trace: string | null,
  meta: Record<string, unknown> | null,
  uniqueKey: string | null,
  concurrencyKey: string | null,
]

export type Work = {
  readonly jobs: (ClaimedJob & { readonly visibleAt: Date })[]
  readonly stale: RunRef[]
  readonly now: Date
  readonly nextDue: Date | null
}

export function decodeWork(rows: readonly unknown[][]): Work {
  const jobs: Work['jobs'] = []
  const stale: RunRef[] = []
  let now = new Date(0)
  let nextDue: Date | null = null
  for (const row of rows as WorkRow[]) {
    if (row[0] === 'j') jobs.push(claimedJob(row))
    else if (row[0] === 's') stale.push({ id: row[1], run: row[2] })
    else {
      now = row[8]
      nextDue = row[7]
    }
  }
  return { jobs, stale, now, nextDue }
}

function claimedJob(row: WorkRow): Work['jobs'][number] {
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
    retry: row[13],
    timeoutMs: row[14],
    parentId: row[15],
    cursor: row[16],
    trace: row[17],
    meta: row[18],
    uniqueKey: row[19],
    concurrencyKey: row[20],
  }
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

/** `2026-11-16 02:03:04.567+00` → the same with the T and minutes that Date.parse wants. */
function parseTime(text: string): Date {
  const offset = /[+-]\d\d$/.test(text) ? ':00' : ''
  return new Date(`${text.slice(0, 10)}T${text.slice(11)}${offset}`)
}
