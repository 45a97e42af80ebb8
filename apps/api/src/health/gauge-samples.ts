import { type GaugePoint, MAX_HEALTH_QUEUES, SPARK_MINUTES } from '@oncue/core/wire'
import type { Gauge, GaugeSample, QueueOverview, WorkerRow } from '@oncue/db'
import { minuteOf } from './ended.ts'
import { type Capacity, WorkerCapacity } from './worker-capacity.ts'

const MINUTE_MS = 60_000
const EMPTY: Gauge = { waiting: 0, running: 0, oldestMs: 0, workers: 0, slots: 0 }

/** The current backlog and capacity. */
export function sampleGauges(
  now: Date,
  queues: readonly QueueOverview[],
  workers: readonly WorkerRow[],
): GaugeSample {
  const capacities = new WorkerCapacity(workers, now)
  const gaugeOf = (some: readonly QueueOverview[], capacity: Capacity): Gauge => ({
    waiting: some.reduce((sum, { waiting }) => sum + waiting, 0),
    running: some.reduce((sum, { running }) => sum + running, 0),
    oldestMs: some.reduce((longest, { oldestWaiting }) => {
      return Math.max(longest, now.getTime() - (oldestWaiting ?? now).getTime())
    }, 0),
    ...capacity,
  })
  const busy = queues.filter(({ waiting, running }) => waiting > 0 || running > 0)
  // The queues with the fewest waiting jobs are left out beyond this number.
  if (busy.length > MAX_HEALTH_QUEUES) busy.sort((a, b) => b.waiting - a.waiting).splice(MAX_HEALTH_QUEUES)
  const gauges = busy.map((overview): [string, Gauge] => {
    return [overview.queue, gaugeOf([overview], capacities.of(overview.queue))]
  })
  return { minute: minuteOf(now), whole: gaugeOf(queues, capacities.whole), queues: new Map(gauges) }
}

export type Spark = (value: (sample: GaugeSample) => number) => number[]

/** The minutes of a sparkline. A minute without a sample repeats the one before; the last is the current state. */
export function sparkOf(latest: GaugeSample, samples: readonly GaugeSample[]): Spark {
  const known = new Map(samples.map((sample) => [sample.minute.getTime(), sample]))
  const shown: (GaugeSample | undefined)[] = []
  for (let ago = SPARK_MINUTES - 1; ago > 0; ago--)
    shown.push(known.get(latest.minute.getTime() - ago * MINUTE_MS) ?? shown.at(-1))
  shown.push(latest)
  return (value) => shown.map((sample) => (sample ? value(sample) : 0))
}

/** A queue that is not in a sample was empty. */
export function gaugeIn(sample: GaugeSample, queue: string): Gauge {
  return sample.queues.get(queue) ?? EMPTY
}

/** The points of a chart: the worst value of each step, so that a bad minute is not smoothed away. */
export function pointsOf(
  samples: readonly GaugeSample[],
  queue: string | null,
  stepMinutes: number,
): GaugePoint[] {
  const stepMs = stepMinutes * MINUTE_MS
  const points = new Map<number, GaugePoint>()
  for (const sample of samples) {
    const at = sample.minute.getTime() - (sample.minute.getTime() % stepMs)
    const gauge = queue === null ? sample.whole : (sample.queues.get(queue) ?? UNKNOWN)
    const point = points.get(at)
    points.set(at, point ? worse(point, gauge) : { minute: new Date(at), ...gauge })
  }
  return [...points.values()]
}

/** Workers of an empty queue are not counted. */
const UNKNOWN = { ...EMPTY, workers: null, slots: null }

function worse(a: GaugePoint, b: Omit<GaugePoint, 'minute'>): GaugePoint {
  return {
    minute: a.minute,
    waiting: Math.max(a.waiting, b.waiting),
    running: Math.max(a.running, b.running),
    oldestMs: Math.max(a.oldestMs, b.oldestMs),
    workers: fewest(a.workers, b.workers),
    slots: fewest(a.slots, b.slots),
  }
}

function fewest(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}
