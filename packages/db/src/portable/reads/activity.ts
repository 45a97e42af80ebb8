import type { ActivityPoint } from '../../store.ts'
import { q, raw, type Sql, timeOf } from '../sql.ts'

type Row = Omit<ActivityPoint, 'minute'> & { readonly minute: unknown }

/** As `series` counts, but of every queue at once and without the histograms, which are most of what it reads. */
export async function activity(
  sql: Sql,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<ActivityPoint[]> {
  const within = q`minute >= ${from} and minute < ${to}`
  const sums = raw(
    ['completed', 'failed', 'cancelled', 'retried']
      .map((name) => `cast(sum(${name}) as bigint) as ${name}`)
      .join(', '),
  )
  const rows = await sql.all<Row>(q`select queue, minute, ${sums} from (
      select queue, minute, completed, failed, cancelled, retried from {stats} where ${within}
      union all
      select queue, minute, completed, failed, cancelled, retried from {stat_deltas}
      where ${within} and (completed > 0 or failed > 0 or cancelled > 0 or retried > 0)) counted
    group by queue, minute order by queue, minute`)
  return rows.map((row) => ({ ...row, minute: timeOf(sql, row.minute) }))
}
