import type { Gauge } from '@oncue/core/wire'
import { all, insertRows, q, raw, readAll, type Sql } from './sql.ts'

export type { Gauge }

/** How many jobs waited and ran in one minute. */
export type GaugeSample = {
  readonly minute: Date
  readonly whole: Gauge
  /** Queues with waiting or running jobs; the others were empty. */
  readonly queues: ReadonlyMap<string, Gauge>
}

export type GaugeRange = {
  readonly from: Date
  readonly to: Date
  /** Only this queue; null: only the total; every queue when absent. */
  readonly queue?: string | null | undefined
}

/** One sample a minute, kept for eight days: a week, and the same day of the week before. */
export interface GaugeStore {
  /** Stores a sample, unless its minute has one, and deletes those that are too old. */
  record(sample: GaugeSample): Promise<void>
  /** `from` is included, `to` is not. Minutes without a sample are left out. */
  list(range: GaugeRange): Promise<GaugeSample[]>
}

const MINUTE_MS = 60_000
/** How far back a trend looks, as throughput does. */
const TREND_MS = 5 * MINUTE_MS

type Backlog = { readonly queue: string; readonly waiting: number }

/**
 * By how many jobs per millisecond the backlog of a queue shrank in the last 5 min, which is throughput less what was
 * enqueued; negative: it grew. Null: no sample tells.
 */
export function shrinkage(
  { queue, waiting }: Backlog,
  samples: readonly GaugeSample[],
  now: Date,
): number | null {
  const ageOf = ({ minute }: GaugeSample) => now.getTime() - minute.getTime()
  const recent = samples.filter(
    (sample) => ageOf(sample) >= MINUTE_MS && ageOf(sample) < TREND_MS + MINUTE_MS,
  )
  const oldest = recent.reduce<GaugeSample | null>(
    (found, sample) => (found === null || sample.minute < found.minute ? sample : found),
    null,
  )
  return oldest && ((oldest.queues.get(queue)?.waiting ?? 0) - waiting) / ageOf(oldest)
}

/**
 * About how long until a queue is empty, in milliseconds, if it goes on as in the last 5 min. Null: it does not shrink,
 * nothing waits, or no sample tells.
 */
export function timeToDrain(backlog: Backlog, samples: readonly GaugeSample[], now: Date): number | null {
  const perMs = shrinkage(backlog, samples, now)
  return backlog.waiting > 0 && perMs !== null && perMs > 0 ? Math.round(backlog.waiting / perMs) : null
}

const KEPT_MS = 8 * 86_400_000

const COLUMNS = 'minute, queue, waiting, running, oldest_ms, workers, slots'

/** The name under which the total is stored: no queue has it. */
const WHOLE = ''

type GaugeRow = Gauge & { readonly minute: Date; readonly queue: string }

/** Written once for both databases. */
export function createGauges(sql: Sql): GaugeStore {
  return {
    async record({ minute, whole, queues }) {
      const gauges: [string, Gauge][] = [[WHOLE, whole], ...queues]
      const rows = gauges.map(([queue, gauge]) => {
        const { waiting, running, oldestMs, workers, slots } = gauge
        return [minute, queue, waiting, running, oldestMs, workers, slots]
      })
      const tooOld = new Date(minute.getTime() - KEPT_MS)
      await sql.run(
        q`delete from {gauges} where minute < ${tooOld}`,
        ...insertRows('{gauges}', COLUMNS, rows, 'on conflict do nothing'),
      )
    },

    async list({ from, to, queue }) {
      const where = [q`minute >= ${from}`, q`minute < ${to}`]
      if (queue !== undefined) where.push(q`queue in (${WHOLE}, ${queue ?? WHOLE})`)
      const statement = q`select ${raw(COLUMNS)} from {gauges} where ${all(where)} order by minute, queue`
      const samples: (GaugeSample & { readonly queues: Map<string, Gauge> })[] = []
      for (const row of await readAll<GaugeRow>(sql, statement, { minute: 'time' })) {
        const { minute, queue, ...gauge } = row
        // The total comes first in its minute.
        if (queue === WHOLE) samples.push({ minute, whole: gauge, queues: new Map() })
        else samples.at(-1)?.queues.set(queue, gauge)
      }
      return samples
    },
  }
}
