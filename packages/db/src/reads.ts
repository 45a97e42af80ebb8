import type { JobId, OncueError } from '@oncue/core'
import type { PrismaClient } from './generated/postgres/client.ts'
import { activity } from './reads/activity.ts'
import { type QueueAndTopic, stats } from './reads/counts.ts'
import type { Place } from './reads/cursor.ts'
import { failures } from './reads/failures.ts'
import { glance } from './reads/glance.ts'
import { get } from './reads/jobs.ts'
import { list } from './reads/list.ts'
import { matching } from './reads/matching.ts'
import { queues } from './reads/queues.ts'
import { series } from './reads/series.ts'
import { throttled } from './reads/throttled.ts'
import { topicClashes } from './reads/topic-clashes.ts'
import { topics, workers } from './reads/workers.ts'
import { withRetries } from './retry.ts'
import type { Sql } from './sql.ts'
import type { FailureFilter, JobFilter, PageRequest, SeriesRequest } from './store.ts'

export type Reads = ReturnType<typeof createReads>

type Access = {
  readonly sql: Sql
  /** Of either dialect: the two clients are generated from the same models. */
  readonly prisma: PrismaClient
  readonly toError: (error: unknown) => OncueError
}

/** Cold reads, written once for both dialects: Prisma where it is fast enough, SQL where it is not. */
export function createReads({ sql, prisma, toError }: Access) {
  return {
    get: (id: JobId) => withRetries(() => get(prisma, id), toError, undefined, sql.runtime),
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
    /** For actions on many jobs: see reads/matching.ts. */
    matchingIds: (filter: JobFilter, asOf: Date, after: Place | null, limit: number) =>
      matching(sql, filter, asOf, after, limit),
  }
}
