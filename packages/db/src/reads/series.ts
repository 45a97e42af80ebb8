import { addHistogram, addLetters, emptyHistogram, type Histogram, quantile } from '../histogram.ts'
import type { Sql } from '../sql.ts'
import type { Durations, SeriesPoint, SeriesRequest } from '../store.ts'
import { inQueueAndTopic } from './counts.ts'
import { invalid } from './filter.ts'
import { type Fragment, q } from './fragment.ts'
import { timeOf } from './summary.ts'

type Row = {
  readonly minute: unknown
  readonly completed: number
  readonly failed: number
  readonly cancelled: number
  /** JSON of counts when it was added up already, otherwise a letter for each run. */
  readonly waits: string
  readonly runs: string
  readonly added: number
}

type Minute = { completed: number; failed: number; cancelled: number; wait: Histogram; run: Histogram }

/** From the first moment on, up to and without the last. */
export async function series(sql: Sql, request: SeriesRequest): Promise<SeriesPoint[]> {
  const { from, to } = request
  if (Number.isNaN(from.getTime()) || Number.isNaN(to.getTime()))
    throw invalid('from and to', 'must be valid dates')
  const minutes = new Map<number, Minute>()
  for (const row of await sql.all<Row>(seriesStatement(request))) {
    const at = timeOf(sql, row.minute).getTime()
    const minute = minutes.get(at) ?? {
      completed: 0,
      failed: 0,
      cancelled: 0,
      wait: emptyHistogram(),
      run: emptyHistogram(),
    }
    minutes.set(at, minute)
    minute.completed += row.completed
    minute.failed += row.failed
    minute.cancelled += row.cancelled
    const add = row.added ? addJson : addLetters
    add(minute.wait, row.waits)
    add(minute.run, row.runs)
  }
  return [...minutes].sort(([a], [b]) => a - b).map(toPoint)
}

/** One statement, so that what is being added up this moment is counted once. What was taken back still happened. */
function seriesStatement({ from, to, queue, topic }: SeriesRequest): Fragment {
  const where = q`minute >= ${from} and minute < ${to} and ${inQueueAndTopic({ queue, topic })}`
  return q`select minute, completed, failed, cancelled, cast(waits as text) as waits, cast(runs as text) as runs, 1 as added
    from {stats} where ${where}
    union all
    select minute, completed, failed, cancelled, waits, runs, 0
    from {stat_deltas} where ${where} and (completed > 0 or failed > 0 or cancelled > 0)`
}

function addJson(histogram: Histogram, json: string): void {
  addHistogram(histogram, JSON.parse(json))
}

function toPoint([at, { completed, failed, cancelled, wait, run }]: [number, Minute]): SeriesPoint {
  return {
    minute: new Date(at),
    completed,
    failed,
    cancelled,
    wait: durations(wait),
    run: durations(run),
  }
}

function durations(counts: Histogram): Durations {
  return { p50: quantile(counts, 0.5), p95: quantile(counts, 0.95), p99: quantile(counts, 0.99), counts }
}
