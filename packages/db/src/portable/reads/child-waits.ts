import type { JobId, JobWaits } from '@oncue/core'
import { q, type Sql } from '../sql.ts'

type Waiting = { readonly id: JobId; readonly waits: JobWaits | null }

/** Jobs with how many of their awaited children have not ended. No query if none waits for children. */
export async function withChildrenLeft<J extends Waiting>(sql: Sql, jobs: readonly J[]): Promise<J[]> {
  const waiting = jobs.filter(({ waits }) => waits?.for.some(({ children }) => children))
  if (waiting.length === 0) return [...jobs]
  const counted = await Promise.all(
    waiting.map(async (job) => [job.id, await countLeft(sql, job.id)] as const),
  )
  const left = new Map(counted)
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

/** By the name of the wait, which its key begins with. */
async function countLeft(sql: Sql, id: JobId): Promise<Map<string, number>> {
  const rows = await sql.all<{ wait: string; n: unknown }>(
    q`select wait, count(*) as n from {child_waits} where parent_id = ${id} group by wait`,
  )
  return new Map(rows.map(({ wait, n }) => [wait.slice(0, wait.lastIndexOf(':')), Number(n)]))
}
