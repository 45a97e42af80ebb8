import type { JobId, JobStatus } from '@oncue/core'
import type { JobGlance } from '../../store.ts'
import { isUuid } from '../../uuid.ts'
import { type PortableStatement, type Sql, timeOf } from '../sql.ts'

type Row = {
  readonly id: string
  readonly topic: string
  readonly status: JobStatus
  readonly run: number
  readonly run_at: unknown
  readonly progress: unknown
  readonly created: unknown
  readonly updated: unknown
}

const COLUMNS = `n.id, n.topic, cast(n.status as text) as status, n.run,
  coalesce(n.run_at, n.created) as run_at, n.progress, n.created`

/** One statement, so that a job on its way from one table to the other is seen in one of them. */
export async function glance(sql: Sql, ids: readonly JobId[]): Promise<Map<JobId, JobGlance>> {
  const asked = [...new Set(ids)].filter(isUuid)
  if (asked.length === 0) return new Map()
  const rows = await sql.all<Row>(glanceStatement(sql.dialect, asked))
  return new Map(rows.map((row) => [row.id, decode(sql, row)]))
}

function decode(sql: Sql, { topic, status, run, run_at, progress, created, updated }: Row): JobGlance {
  return {
    topic,
    status,
    run,
    runAt: timeOf(sql, run_at),
    progress: sql.json(progress),
    created: timeOf(sql, created),
    updated: timeOf(sql, updated),
  }
}

export function glanceStatement(dialect: Sql['dialect'], ids: readonly JobId[]): PortableStatement {
  return byIdStatement(
    dialect,
    ids,
    `${COLUMNS}, n.updated as updated`,
    `${COLUMNS}, n.finished_at as updated`,
  )
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
