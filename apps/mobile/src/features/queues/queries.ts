import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'
import { serverNow } from '../../lib/clock.ts'
import { rangeOf, type Series, type SpanName, seriesOf } from './series.ts'

/** What became of its jobs over time, up to the last whole step. */
export const queueSeries = (queue: string, span: SpanName): Read<Series> => ({
  key: ['jobs.series', queue, span],
  async call(client, options) {
    const range = rangeOf(span, serverNow())
    return seriesOf(await client.jobs.series({ queue, ...range }, options), range)
  },
  everyMs: 30_000,
})

export const queueStats = (queue: string): Read<Outputs['jobs']['stats']> => ({
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
