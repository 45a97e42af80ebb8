import type { Job, JobId } from '@oncue/core'
import { isUuid } from '../../uuid.ts'
import type { Sql } from '../sql.ts'
import { byIdStatement } from './glance.ts'
import { type SummaryRow, WHOLE_JOB } from './summary.ts'

/** One job, wherever it is, with its payload and result. In one statement, which misses no job that moves meanwhile. */
export async function get(sql: Sql, id: JobId): Promise<Job | null> {
  if (!isUuid(id)) return null
  const { live, finished, decode } = WHOLE_JOB
  const rows = await sql.all<SummaryRow>(byIdStatement(sql.dialect, [id.toLowerCase()], live, finished))
  const jobs = rows.map((row) => decode(sql, row))
  // One that was enqueued again after it had finished is in both tables.
  return jobs.find((job) => job.finishedAt === null) ?? jobs[0] ?? null
}
