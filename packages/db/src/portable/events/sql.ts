import { type Fragment, q, raw, readAll, type Sql } from '../sql.ts'
import type { EncodedEvent } from './event.ts'

const COLUMNS = raw('e.job_id, e.version, e.type, e.data, e.created')

export function readEvents<Event>(sql: Sql, statement: Fragment): Promise<Event[]> {
  return readAll(sql, statement, { data: 'json', created: 'time' })
}

export function listed(jobId: string, afterVersion: number, limit: number): Fragment {
  return q`select ${COLUMNS} from {events} e where e.job_id = ${jobId} and e.version > ${afterVersion}
    order by e.version limit ${limit}`
}

/** A position in a stream: everything after that version. */
export type StreamPosition = { readonly jobId: string; readonly after: number }

/** Up to `page` events of each position, in one statement. */
export function listedAfter(
  dialect: Sql['dialect'],
  positions: readonly StreamPosition[],
  page: number,
): Fragment {
  const json = JSON.stringify(positions)
  // Lateral, so that no plan can read the whole table.
  if (dialect === 'postgres')
    return q`select w.after, ${COLUMNS}
      from json_to_recordset(${json}::json) as w("jobId" uuid, after integer)
      cross join lateral (
        select * from {events} e where e.job_id = w."jobId" and e.version > w.after
        order by e.version limit ${page}::integer
      ) e
      order by e.job_id, e.version`
  // SQLite has no lateral; but since versions have no gaps, a page is a range of them.
  return q`select w.value ->> 'after' as after, ${COLUMNS}
    from json_each(${json}) w cross join {events} e
    where e.job_id = w.value ->> 'jobId' and e.version > w.value ->> 'after'
      and e.version <= (w.value ->> 'after') + ${page}
    order by e.job_id, e.version`
}

/**
 * The stream of a job and its version; no row when there is no such job. One that was enqueued again after it had
 * finished is both live and finished, and has one stream.
 */
export function current(jobId: string, lock: '' | 'for key share' = ''): Fragment {
  return q`select j.id, (select coalesce(max(e.version), 0) from {events} e where e.job_id = j.id) as version
    from (
      select id from (select id from {jobs} where id = ${jobId} ${raw(lock)}) live
      union select id from (select id from {history} where id = ${jobId} ${raw(lock)}) finished
    ) j`
}

/**
 * Appends if there is such a job and its stream is at that version; otherwise writes nothing. Two appends
 * that race both pass this check, and the primary key refuses one of them. On Postgres the job is locked against
 * removal meanwhile, because its events would stay behind; on SQLite there is one writer.
 */
export function appended(
  dialect: Sql['dialect'],
  jobId: string,
  expected: number | null,
  events: readonly EncodedEvent[],
  now: Date,
): Fragment {
  // As one value, because SQLite takes at most 500 rows written out. Data travels as text within it.
  const rows = JSON.stringify(events.map(({ type, data }) => [type, data]))
  const isAt = raw(expected === null ? '' : `where v.version = ${expected}`)
  const isPostgres = dialect === 'postgres'
  const source = isPostgres
    ? q`select n, value ->> 0 as type, (value ->> 1)::json as data
        from json_array_elements(${rows}::json) with ordinality as a(value, n)`
    : q`select key + 1 as n, value ->> 0 as type, value ->> 1 as data from json_each(${rows})`
  const created = isPostgres ? q`${now}::timestamptz` : q`${now}`
  return q`insert into {events} (job_id, version, type, data, created)
    select v.id, v.version + e.n, e.type, e.data, ${created}
    from (${source}) e cross join (${current(jobId, isPostgres ? 'for key share' : '')}) v ${isAt}
    returning version`
}
