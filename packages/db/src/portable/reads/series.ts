import type { ActivityPoint, Durations, SeriesPoint, SeriesRequest } from '../../store.ts'
import { type Fragment, q, raw, readAll, type Sql } from '../sql.ts'
import {
  addCounts,
  addHistogram,
  addLetters,
  type Counts,
  emptyHistogram,
  type Histogram,
  noCounts,
  quantile,
} from '../stats.ts'
import { inQueueAndTopic } from './counts.ts'
import { invalid } from './filter.ts'

type Row = Counts & {
  readonly minute: Date
  /** JSON of counts if it was rolled up already, otherwise a letter for each run. */
  readonly waits: string
  readonly runs: string
  readonly added: number
}

const MINUTE_MS = 60_000

/** Histograms can be added up, percentiles cannot. */
type Step = ReturnType<typeof emptyStep>
const emptyStep = () => ({ ...noCounts(), wait: emptyHistogram(), run: emptyHistogram() })

/** From the first time on, to before the last. */
export async function series(sql: Sql, request: SeriesRequest): Promise<SeriesPoint[]> {
  const { from, to, stepMinutes = 1 } = request
  if (Number.isNaN(from.getTime()) || Number.isNaN(to.getTime()))
    throw invalid('from and to', 'must be valid dates')
  if (!Number.isInteger(stepMinutes) || stepMinutes < 1 || stepMinutes > 1_440)
    throw invalid('stepMinutes', 'must be a whole number from 1 to 1440')
  const stepMs = stepMinutes * MINUTE_MS
  const steps = new Map<number, Step>()
  for (const row of await readAll<Row>(sql, seriesStatement(request), { minute: 'time' })) {
    const minute = row.minute.getTime()
    const at = minute - (minute % stepMs)
    const step = steps.get(at) ?? emptyStep()
    steps.set(at, step)
    addCounts(step, row)
    const add = row.added ? addJson : addLetters
    add(step.wait, row.waits)
    add(step.run, row.runs)
  }
  return [...steps].sort(([a], [b]) => a - b).map(toPoint)
}

/**
 * One statement, so that rows being rolled up at this moment are counted once. Requeued and removed jobs still
 * count.
 */
function seriesStatement({ from, to, queue, topic }: SeriesRequest): Fragment {
  const where = q`minute >= ${from} and minute < ${to} and ${inQueueAndTopic({ queue, topic })}`
  return q`select minute, completed, failed, cancelled, retried, cast(waits as text) as waits, cast(runs as text) as runs,
      1 as added
    from {stats} where ${where}
    union all
    select minute, completed, failed, cancelled, retried, waits, runs, 0
    from {stat_deltas} where ${where} and (completed > 0 or failed > 0 or cancelled > 0 or retried > 0)`
}

function addJson(histogram: Histogram, json: string): void {
  addHistogram(histogram, JSON.parse(json))
}

function toPoint([at, { wait, run, ...counts }]: [number, Step]): SeriesPoint {
  return { minute: new Date(at), ...counts, wait: durations(wait), run: durations(run) }
}

function durations(counts: Histogram): Durations {
  return { p50: quantile(counts, 0.5), p95: quantile(counts, 0.95), p99: quantile(counts, 0.99), counts }
}

/** Like `series`, but of every queue at once and without the histograms, which are most of what `series` reads. */
export function activity(
  sql: Sql,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<ActivityPoint[]> {
  const within = q`minute >= ${from} and minute < ${to}`
  const sums = raw(
    ['completed', 'failed', 'cancelled', 'retried']
      .map((name) => `cast(sum(${name}) as bigint) as ${name}`)
      .join(', '),
  )
  const statement = q`select queue, minute, ${sums} from (
      select queue, minute, completed, failed, cancelled, retried from {stats} where ${within}
      union all
      select queue, minute, completed, failed, cancelled, retried from {stat_deltas}
      where ${within} and (completed > 0 or failed > 0 or cancelled > 0 or retried > 0)) counted
    group by queue, minute order by queue, minute`
  return readAll(sql, statement, { minute: 'time' })
}
