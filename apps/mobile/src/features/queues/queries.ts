import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { type Gauges, gaugesOf, rangeOf, type Series, type SpanName, seriesOf } from './series.ts'

/** Of one queue, or of all of them. */
const scopeOf = (queue: string | null) => (queue === null ? {} : { queue })

/** What became of jobs over time, up to the last whole step. */
export const runSeries = (queue: string | null, span: SpanName): Read<Series> => ({
  key: ['jobs.series', queue, span],
  async call(client, options) {
    const range = rangeOf(span, serverNow())
    return seriesOf(await client.jobs.series({ ...scopeOf(queue), ...range }, options), range)
  },
  everyMs: 30_000,
})

/** How much waited, and for how long, likewise. */
export const gaugeSeries = (queue: string | null, span: SpanName): Read<Gauges> => ({
  key: ['jobs.gauges', queue, span],
  async call(client, options) {
    const range = rangeOf(span, serverNow())
    return gaugesOf(await client.jobs.gauges({ ...scopeOf(queue), ...range }, options), range)
  },
  everyMs: 30_000,
})

export type JobStats = Outputs['jobs']['stats']

export const queueStats = (queue: string): Read<JobStats> => ({
  key: ['jobs.stats', queue],
  call: (client, options) => client.jobs.stats({ queue }, options),
  everyMs: 10_000,
})

/** Why its jobs wait. It changes without them: a pause, a worker that comes. */
export const queueExplanation = (queue: string, enabled: boolean): Read<Outputs['queues']['explain']> => ({
  key: ['queues.explain', queue],
  call: (client, options) => client.queues.explain({ queue }, options),
  everyMs: 30_000,
  enabled,
})

export const workers: Read<Outputs['workers']['list']> = {
  key: ['workers.list'],
  call: (client, options) => client.workers.list(undefined, options),
  everyMs: 10_000,
}

/** The same, for the marks of charts, which change with a deploy. */
export const deploys: Read<Outputs['workers']['list']> = {
  key: ['workers.list', 'ended'],
  call: (client, options) => client.workers.list({ ended: true }, options),
  everyMs: 60_000,
}
