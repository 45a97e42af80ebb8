import { JOB_STATUSES, type JobStatus } from '@oncue/core'
import type { JobFilter, JobPage } from '../../store.ts'
import { type Fragment, q, type Sql, withCtes } from '../sql.ts'
import { countJobs } from './counts.ts'
import type { Place } from './cursor.ts'
import { search, type Wanted } from './search.ts'
import { type Selection, sourcesOf } from './sources.ts'
import { sinceWhen } from './windows.ts'

export type Total = Pick<JobPage, 'total' | 'totalIsExact'>

/** Where no counter knows the total, counting stops here. */
const COUNT_UP_TO = 10_000

/** So many jobs are looked up by their meta in one go: each may be on a page of its own. */
export const LOOK_UP_TO = 2_000

/** How long the rest of a search may be counted. People wait for a page, hardly ever for its total. */
const COUNT_MS = 20

/** Counters know queue, topic and status, and nothing else: then null. */
export async function countedTotal(sql: Sql, filter: JobFilter): Promise<Total | null> {
  const { status, queue, topic, ...others } = filter
  if (Object.values(others).some((value) => value !== undefined)) return null
  const counts = await countJobs(sql, { queue, topic })
  const statuses: readonly JobStatus[] = status ? [status] : JOB_STATUSES
  return { total: statuses.reduce((sum, name) => sum + counts[name], 0), totalIsExact: true }
}

/** `page` is of the list that is counted. */
export async function countMatches(
  sql: Sql,
  { filter, way, windowsFrom }: Wanted,
  page: readonly Place[],
  countMs = COUNT_MS,
): Promise<Total> {
  if (way?.isAll) return { total: way.count, totalIsExact: way.isFew }
  const by = way?.entry
  let n = 0
  const count = async (part: { readonly filter: JobFilter; readonly after?: Place | undefined }) => {
    const statement = countStatement(sql.dialect, { ...part, by })
    const [row] = statement ? await sql.walk<{ n: number }>(statement) : []
    n += row?.n ?? 0
    return n <= COUNT_UP_TO
  }
  const upTo = (isAll: boolean) => ({
    total: Math.min(n, COUNT_UP_TO),
    totalIsExact: isAll && n <= COUNT_UP_TO,
  })
  if (windowsFrom) return upTo(!(await search(windowsFrom(undefined), filter, countMs, count, sql.runtime)))
  // Jobs of a short time are neighbours on the disk, of whatever topic. Ten thousand of one topic are not.
  const since = sinceWhen(filter, page, COUNT_UP_TO)
  const isNotEnough = since ? await count({ filter: { ...filter, createdFrom: since } }) : true
  if (isNotEnough) await count({ filter: since ? { ...filter, createdTo: since } : filter })
  return upTo(true)
}

export function countStatement(
  dialect: Sql['dialect'],
  selection: Omit<Selection, 'direction' | 'limit'>,
): Fragment | null {
  const limit = COUNT_UP_TO + 1
  const sources = sourcesOf(dialect, { ...selection, direction: 'desc', limit })
  if (!sources) return null
  return q`${withCtes(sources.ctes)} select count(*) as n from (select 1 from (${sources.found}) f limit ${limit}) c`
}
