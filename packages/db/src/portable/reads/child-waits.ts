import type { JobId, JobWaits } from '@oncue/core'
import { list, q, type Sql } from '../sql.ts'

type Waiting = { readonly id: JobId; readonly waits: JobWaits | null }

/** Jobs with how many of their awaited children have not ended. No query if none waits for children. */
export async function withChildrenLeft<J extends Waiting>(sql: Sql, jobs: readonly J[]): Promise<J[]> {
  const waiting = jobs.filter(({ waits }) => waits?.for.some(({ children }) => children))
  if (waiting.length === 0) return [...jobs]
  const left = await countLeft(
    sql,
    waiting.map(({ id }) => id),
  )
  return jobs.map((job) => {
    const counts = left.get(job.id)
    return counts && job.waits ? { ...job, waits: { ...job.waits, for: shown(job.waits, counts) } } : job
  })
}

function shown(waits: JobWaits, left: ReadonlyMap<string, number>): JobWaits['for'] {
  return waits.for.map((wait) =>
    wait.children ? { ...wait, children: { ...wait.children, left: left.get(wait.name) ?? 0 } } : wait,
  )
}

/** Of each job, by the name of the wait, which its key begins with. */
async function countLeft(sql: Sql, ids: readonly JobId[]): Promise<Map<JobId, Map<string, number>>> {
  const rows = await sql.all<{ id: JobId; wait: string; n: unknown }>(
    q`select parent_id as id, wait, count(*) as n from {child_waits} where parent_id in (${list(ids)})
      group by parent_id, wait`,
  )
  const left = new Map(ids.map((id) => [id, new Map<string, number>()]))
  for (const { id, wait, n } of rows) left.get(id)?.set(wait.slice(0, wait.lastIndexOf(':')), Number(n))
  return left
}
