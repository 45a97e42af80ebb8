import type { Outputs } from '@oncue/sdk'

type Point = Outputs['jobs']['series'][number]
type Percentile = 'p50' | 'p95'

const MINUTE_MS = 60_000

/** About as many points as a chart can show. */
export const SPANS = {
  '1h': { label: '1 h', minutes: 60, stepMinutes: 1 },
  '24h': { label: '24 h', minutes: 24 * 60, stepMinutes: 10 },
} as const

export type SpanName = keyof typeof SPANS

export interface Range {
  readonly from: Date
  readonly to: Date
  readonly stepMinutes: number
}

/** Whole steps only: an incomplete one would look like a drop. */
export function rangeOf(span: SpanName, now: number): Range {
  const { minutes, stepMinutes } = SPANS[span]
  const stepMs = stepMinutes * MINUTE_MS
  const to = now - (now % stepMs)
  return { from: new Date(to - minutes * MINUTE_MS), to: new Date(to), stepMinutes }
}

export interface Series {
  readonly times: readonly Date[]
  /** A minute, whatever the step. */
  readonly completed: readonly number[]
  /** Failed runs, including those whose jobs are retried. */
  readonly failed: readonly number[]
  /** Milliseconds; null where nothing ran. */
  readonly wait: Readonly<Record<Percentile, readonly (number | null)[]>>
  readonly run: Readonly<Record<Percentile, readonly (number | null)[]>>
}

/** A value for each step: where nothing happened the API says nothing. */
export function seriesOf(points: readonly Point[], { from, to, stepMinutes }: Range): Series {
  const stepMs = stepMinutes * MINUTE_MS
  const known = new Map(points.map((point) => [point.minute.getTime(), point]))
  const times: Date[] = []
  for (let at = from.getTime(); at < to.getTime(); at += stepMs) times.push(new Date(at))
  const each = <Value>(read: (point: Point | undefined) => Value) =>
    times.map((at) => read(known.get(at.getTime())))
  const percentiles = (of: 'wait' | 'run') => ({
    p50: each((point) => point?.[of].p50 ?? null),
    p95: each((point) => point?.[of].p95 ?? null),
  })
  return {
    times,
    completed: each((point) => (point?.completed ?? 0) / stepMinutes),
    failed: each((point) => ((point?.failed ?? 0) + (point?.retried ?? 0)) / stepMinutes),
    wait: percentiles('wait'),
    run: percentiles('run'),
  }
}

/** A threshold far above all values would press them flat: it is drawn once they come near it. */
export function isNear(threshold: number, ...series: readonly (readonly (number | null)[])[]): boolean {
  return series.some((values) => values.some((value) => value !== null && value >= threshold / 4))
}
