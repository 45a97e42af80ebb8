import type { JobId } from '@oncue/core'
import type { FailureFilter, JobFilter, PageRequest, SeriesRequest } from '../../store.ts'
import type { Sql } from '../sql.ts'
import { type QueueAndTopic, stats } from './counts.ts'
import type { ListPosition } from './cursor.ts'
import { failures } from './failures.ts'
import { get, glance } from './jobs.ts'
import { list, matching } from './list.ts'
import { queues, throttled } from './queues.ts'
import { activity, series } from './series.ts'
import { topicClashes, topics, workers } from './workers.ts'

export type Reads = ReturnType<typeof createReads>

/** Cold reads, written once for both dialects. */
export function createReads(sql: Sql) {
  return {
    get: (id: JobId) => get(sql, id),
    glance: (ids: readonly JobId[]) => glance(sql, ids),
    list: (filter: JobFilter = {}, page: PageRequest = {}) => list(sql, filter, page),
    stats: (filter: QueueAndTopic = {}) => stats(sql, filter),
    failures: (filter: FailureFilter = {}) => failures(sql, filter),
    queues: () => queues(sql),
    throttled: (request: Parameters<typeof throttled>[1]) => throttled(sql, request),
    workers: () => workers(sql),
    topics: () => topics(sql),
    topicClashes: () => topicClashes(sql),
    series: (request: SeriesRequest) => series(sql, request),
    activity: (range: Parameters<typeof activity>[1]) => activity(sql, range),
    /** For actions on many jobs: see `matching` in reads/list.ts. */
    matchingIds: (filter: JobFilter, asOf: Date, after: ListPosition | null, limit: number) =>
      matching(sql, filter, asOf, after, limit),
  }
}
