import type { JobId } from '@oncue/core'
import type { WaitedForPage } from '../../store.ts'
import { isUuid } from '../../uuid.ts'
import { all, list, q, raw, type Sql } from '../sql.ts'
import { byIdStatement, ENDED, type SummaryRow } from './jobs.ts'

/** Results may take a megabyte each. */
const PAGE = 50

/** The jobs of its batch, or the nodes of its flow, that a job has waited for, in their order; those after a place. */
export async function waitedFor(sql: Sql, id: JobId, after = -1): Promise<WaitedForPage> {
  if (!isUuid(id)) return { jobs: [], next: null }
  const [place] = await sql.all<{ flow: string; kind: string; after: unknown }>(
    q`select flow_id as flow, kind, after from {flow_places}
      where job_id = ${id} and after is not null order by flow_id limit 1`,
  )
  if (!place) return { jobs: [], next: null }
  const places = sql.json(place.after) as number[]
  const conditions = [
    q`flow_id = ${place.flow} and place > ${after}`,
    place.kind === 'node' ? q`place in (${list(places)})` : raw(`kind = 'job'`),
  ]
  const rows = await sql.all<{ id: JobId; place: number; name: string | null }>(
    q`select job_id as id, place, name from {flow_places} where ${all(conditions)}
      order by place limit ${PAGE}`,
  )
  const ids = [...new Set(rows.map((row) => row.id))]
  const found = await sql.all<SummaryRow>(byIdStatement(sql.dialect, ids, ENDED.live, ENDED.finished))
  // One that was requeued is live: its earlier end is over.
  const ends = new Map(found.reverse().map((row) => [row.id, ENDED.decode(sql, row)]))
  return {
    jobs: rows.flatMap(({ id, name }) => {
      const end = ends.get(id)
      return end ? [{ ...end, name }] : []
    }),
    next: rows.length < PAGE ? null : Number(rows.at(-1)?.place),
  }
}
