import type { Outputs } from '@oncue/sdk'

type Point = Outputs['jobs']['series'][number]
type Gauge = Outputs['jobs']['gauges'][number]
type Percentile = 'p50' | 'p95'

const MINUTE_MS = 60_000

/** About as many points as a chart can show. */
export const SPANS = {
  '1h': { label: '1 h', minutes: 60, stepMinutes: 1, per: 'per minute' },
  '24h': { label: '24 h', minutes: 24 * 60, stepMinutes: 10, per: 'per 10\u00a0min' },
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

interface Grid {
  readonly times: readonly Date[]
  readonly stepMs: number
}

type Values = readonly (number | null)[]

export interface Series extends Grid {
  /** In each step. */
  readonly completed: readonly number[]
  /** Failed runs, including those whose jobs are retried. */
  readonly failed: readonly number[]
  /** Share of the runs of each step; null where nothing ran. */
  readonly failureRate: Values
  /** Milliseconds; null where nothing ran. */
  readonly wait: Readonly<Record<Percentile, Values>>
  readonly run: Readonly<Record<Percentile, Values>>
}

/** A value for each step: the API leaves out steps without jobs. */
export function seriesOf(points: readonly Point[], range: Range): Series {
  const { each, ...grid } = gridOf(points, range)
  const failedIn = (point: Point | undefined) => (point?.failed ?? 0) + (point?.retried ?? 0)
  const percentiles = (of: 'wait' | 'run') => ({
    p50: each((point) => point?.[of].p50 ?? null),
    p95: each((point) => point?.[of].p95 ?? null),
  })
  return {
    ...grid,
    completed: each((point) => point?.completed ?? 0),
    failed: each(failedIn),
    failureRate: each((point) => {
      const ran = (point?.completed ?? 0) + failedIn(point)
      return ran === 0 ? null : failedIn(point) / ran
    }),
    wait: percentiles('wait'),
    run: percentiles('run'),
  }
}

/** The worst of each step; null where no one measured. */
export interface Gauges extends Grid {
  readonly waiting: Values
  readonly oldestMs: Values
}

export function gaugesOf(points: readonly Gauge[], range: Range): Gauges {
  const { each, ...grid } = gridOf(points, range)
  return {
    ...grid,
    waiting: each((point) => point?.waiting ?? null),
    oldestMs: each((point) => point?.oldestMs ?? null),
  }
}

function gridOf<P extends { readonly minute: Date }>(points: readonly P[], { from, to, stepMinutes }: Range) {
  const stepMs = stepMinutes * MINUTE_MS
  const known = new Map(points.map((point) => [point.minute.getTime(), point]))
  const times: Date[] = []
  for (let at = from.getTime(); at < to.getTime(); at += stepMs) times.push(new Date(at))
  const each = <Value>(read: (point: P | undefined) => Value) =>
    times.map((at) => read(known.get(at.getTime())))
  return { times, stepMs, each }
}

/** A threshold far above all values would flatten them: it is drawn only when they come near it. */
export function isNear(threshold: number, ...series: readonly (readonly (number | null)[])[]): boolean {
  return series.some((values) => values.some((value) => value !== null && value >= threshold / 4))
}
