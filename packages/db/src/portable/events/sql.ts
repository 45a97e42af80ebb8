import type { PortableStatement, Sql } from '../sql.ts'
import type { EncodedEvent, JobEvent } from './event.ts'

export type EventRow = {
  readonly job_id: string
  readonly version: number
  readonly type: string
  readonly data: unknown
  readonly created: unknown
}

const COLUMNS = 'e.job_id, e.version, e.type, e.data, e.created'

export function toEvent(sql: Sql, { job_id, version, type, data, created }: EventRow): JobEvent {
  return { jobId: job_id, version, type, data: sql.json(data), created: sql.time(created) ?? new Date(0) }
}

export function listed(jobId: string, afterVersion: number, limit: number): PortableStatement {
  return {
    text: `select ${COLUMNS} from {events} e where e.job_id = ? and e.version > ? order by e.version limit ?`,
    values: [jobId, afterVersion, limit],
  }
}

/** A position in a stream: everything after that version. */
export type StreamPosition = { readonly jobId: string; readonly after: number }

/** Up to `page` events of each position, in one statement. */
export function listedAfter(
  dialect: Sql['dialect'],
  positions: readonly StreamPosition[],
  page: number,
): PortableStatement {
  const values = [JSON.stringify(positions), page]
  // Lateral, so that no plan can read the whole table.
  if (dialect === 'postgres') {
    return {
      text: `select w.after, ${COLUMNS}
        from json_to_recordset(?::json) as w("jobId" uuid, after integer)
        cross join lateral (
          select * from {events} e where e.job_id = w."jobId" and e.version > w.after
          order by e.version limit ?::integer
        ) e
        order by e.job_id, e.version`,
      values,
    }
  }
  // SQLite has no lateral; but since versions have no gaps, a page is a range of them.
  return {
    text: `select w.value ->> 'after' as after, ${COLUMNS}
      from json_each(?) w cross join {events} e
      where e.job_id = w.value ->> 'jobId' and e.version > w.value ->> 'after'
        and e.version <= (w.value ->> 'after') + ?
      order by e.job_id, e.version`,
    values,
  }
}

/**
 * The stream of a job and its version; no row when there is no such job. Takes the id twice. One that was
 * enqueued again after it had finished is both live and finished, and has one stream.
 */
function stream(lock: '' | 'for key share'): string {
  return `
  select j.id, (select coalesce(max(e.version), 0) from {events} e where e.job_id = j.id) as version
  from (
    select id from (select id from {jobs} where id = ? ${lock}) live
    union select id from (select id from {history} where id = ? ${lock}) finished
  ) j`
}

export function current(jobId: string): PortableStatement {
  return { text: stream(''), values: [jobId, jobId] }
}

/**
 * Appends if there is such a job and its stream is at that version; otherwise writes nothing. Two
 * that race both find it there, and the primary key refuses one of them. On Postgres the job is kept from being
 * removed meanwhile, because its events would stay behind; on SQLite there is one writer.
 */
export function appended(
  dialect: Sql['dialect'],
  jobId: string,
  expected: number | null,
  events: readonly EncodedEvent[],
  now: Date,
): PortableStatement {
  // As one value, because SQLite takes at most 500 rows written out. Data travels as text within it.
  const rows = JSON.stringify(events.map(({ type, data }) => [type, data]))
  const isAt = expected === null ? '' : `where v.version = ${expected}`
  const [source, created] =
    dialect === 'postgres'
      ? [
          `select n, value ->> 0 as type, (value ->> 1)::json as data
           from json_array_elements(?::json) with ordinality as a(value, n)`,
          '?::timestamptz',
        ]
      : [`select key + 1 as n, value ->> 0 as type, value ->> 1 as data from json_each(?)`, '?']
  return {
    text: `insert into {events} (job_id, version, type, data, created)
      select v.id, v.version + e.n, e.type, e.data, ${created}
      from (${source}) e cross join (${stream(dialect === 'postgres' ? 'for key share' : '')}) v ${isAt}
      returning version`,
    values: [now, rows, jobId, jobId],
  }
}
