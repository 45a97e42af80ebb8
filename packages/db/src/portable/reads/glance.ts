import type { JobId } from '@oncue/core'
import type { JobGlance } from '../../store.ts'
import { isUuid } from '../../uuid.ts'
import type { PortableStatement, Sql } from '../sql.ts'
import { GLANCE, type SummaryRow } from './summary.ts'

/** One statement, so that a job on its way from one table to the other is seen in one of them. */
export async function glance(sql: Sql, ids: readonly JobId[]): Promise<Map<JobId, JobGlance>> {
  const asked = [...new Set(ids)].filter(isUuid)
  if (asked.length === 0) return new Map()
  const rows = await sql.all<SummaryRow>(glanceStatement(sql.dialect, asked))
  return new Map(
    rows.map((row) => {
      const { id, ...job } = GLANCE.decode(sql, row)
      return [id, job]
    }),
  )
}

export function glanceStatement(dialect: Sql['dialect'], ids: readonly JobId[]): PortableStatement {
  return byIdStatement(dialect, ids, GLANCE.live, GLANCE.finished)
}

/** The rows of these jobs, wherever they are; columns of `n`. */
export function byIdStatement(
  dialect: Sql['dialect'],
  ids: readonly JobId[],
  live: string,
  finished = live,
): PortableStatement {
  const list = JSON.stringify(ids)
  if (dialect === 'postgres') {
    // Lateral, so that no plan can read a whole table.
    return {
      text: `select n.* from json_array_elements_text(?::json) as w(id) cross join lateral (
        select ${live} from {jobs} n where n.id = w.id::uuid
        union all
        select ${finished} from {history} n where n.id = w.id::uuid) n`,
      values: [list],
    }
  }
  return {
    text: `select ${live} from json_each(?) w cross join {jobs} n where n.id = w.value
      union all
      select ${finished} from json_each(?) w cross join {history} n where n.id = w.value`,
    values: [list, list],
  }
}
