import type { Job, JobError, JobId, JobStatus, OncueError, RetryPolicy } from '@oncue/core'
import { isFinished, JOB_STATUSES } from '@oncue/core'
import type { History, PrismaClient, Job as Row } from './generated/postgres/client.ts'
import { withRetries } from './retry.ts'
import type { JobPage, ListFilter, StoreStats } from './store.ts'
import { isUuid } from './uuid.ts'

/** Cold reads, through Prisma and once for both dialects: the models are the same by construction. */
export type Reads = ReturnType<typeof createReads>

export function createReads(prisma: PrismaClient, toError: (error: unknown) => OncueError) {
  const read = <T>(query: () => Promise<T>) => withRetries(query, toError)

  async function get(id: JobId): Promise<Job | null> {
    const live = async () => {
      const row = await prisma.job.findUnique({ where: { id } })
      return row && fromLive(row)
    }
    const finished = async () => {
      const row = await prisma.history.findUnique({ where: { id } })
      return row && fromHistory(row)
    }
    // A job that is requeued between the first two looks is back among the live.
    const job = (await live()) ?? (await finished()) ?? (await live())
    if (!job) return null
    const parts = await prisma.payload.findMany({ where: { jobId: id } })
    const part = (name: string) => parts.find((p) => p.part === name)?.data
    return {
      ...job,
      payload: job.payload ?? part('payload') ?? null,
      result: job.result ?? part('result') ?? null,
    }
  }

  async function list(filter: ListFilter): Promise<JobPage> {
    const { status, queue, topic, limit = 50, offset = 0 } = filter
    const where = { ...(status && { status }), ...(queue && { queue }), ...(topic && { topic }) }
    const page = {
      where,
      orderBy: [{ created: 'desc' as const }, { id: 'desc' as const }],
      take: offset + limit,
    }
    const wantsLive = !status || !isFinished(status)
    const wantsFinished = !status || isFinished(status)
    const [live, liveTotal, finished, finishedTotal] = await Promise.all([
      wantsLive ? prisma.job.findMany(page) : [],
      wantsLive ? prisma.job.count({ where }) : 0,
      wantsFinished ? prisma.history.findMany(page) : [],
      wantsFinished ? prisma.history.count({ where }) : 0,
    ])
    const items = [...live.map(fromLive), ...finished.map(fromHistory)]
      .sort((a, b) => b.created.getTime() - a.created.getTime() || (a.id < b.id ? 1 : -1))
      .slice(offset, offset + limit)
    return { items, total: liveTotal + finishedTotal }
  }

  async function stats(): Promise<StoreStats> {
    const [live, finished] = await Promise.all([
      prisma.job.groupBy({ by: ['status'], _count: { _all: true } }),
      prisma.history.groupBy({ by: ['status'], _count: { _all: true } }),
    ])
    const counts = Object.fromEntries(JOB_STATUSES.map((status) => [status, 0])) as Record<JobStatus, number>
    for (const group of [...live, ...finished]) counts[group.status] += group._count._all
    return counts
  }

  /** Why these jobs could not be put back: they are live, or there are none of that id. */
  async function whyNotRequeued(ids: readonly JobId[]): Promise<Record<string, number>> {
    if (ids.length === 0) return {}
    const live = await prisma.job.count({ where: { id: { in: ids.filter(isUuid) } } })
    const unknown = ids.length - live
    return { ...(live && { INVALID_STATE: live }), ...(unknown && { JOB_NOT_FOUND: unknown }) }
  }

  return {
    get: (id: JobId) => read(() => get(id)),
    list: (filter: ListFilter) => read(() => list(filter)),
    stats: () => read(stats),
    whyNotRequeued: (ids: readonly JobId[]) => read(() => whyNotRequeued(ids)),
  }
}

function fromLive(row: Row): Job {
  return { ...common(row), ...pick(row), result: null, finishedAt: null }
}

function fromHistory(row: History): Job {
  return {
    ...common(row),
    visibleAt: null,
    lockedUntil: null,
    depsLeft: 0,
    result: row.result,
    updated: row.finishedAt,
    finishedAt: row.finishedAt,
  }
}

function pick({ visibleAt, lockedUntil, depsLeft, updated }: Row) {
  return { visibleAt, lockedUntil, depsLeft, updated }
}

function common(row: Row | History) {
  return {
    id: row.id,
    queue: row.queue,
    topic: row.topic,
    status: row.status,
    priority: row.priority,
    runAt: row.runAt,
    lockedBy: row.lockedBy,
    run: row.run,
    retries: row.retries,
    maxRetries: row.maxRetries,
    crashes: row.crashes,
    retry: row.retry as RetryPolicy | null,
    timeoutMs: row.timeoutMs,
    uniqueKey: row.uniqueKey,
    concurrencyKey: row.concurrencyKey,
    parentId: row.parentId,
    payload: row.payload as unknown,
    cursor: row.cursor as unknown,
    progress: row.progress as unknown,
    lastError: row.lastError as JobError | null,
    trace: row.trace,
    meta: row.meta as Record<string, unknown> | null,
    created: row.created,
    startedAt: row.startedAt,
  }
}
