import { DEFAULTS, type Job, type JobError, type JobId, type RetryPolicy } from '@oncue/core'
import type { History, PrismaClient, Job as Row } from '../generated/postgres/client.ts'
import { isUuid } from '../uuid.ts'

/** One job, wherever it is, with its payload and result. */
export async function get(prisma: PrismaClient, jobId: JobId): Promise<Job | null> {
  if (!isUuid(jobId)) return null
  const id = jobId.toLowerCase()
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
  const result = job.finishedAt ? (job.result ?? part('result') ?? null) : null
  return { ...job, payload: job.payload ?? part('payload') ?? null, result }
}

function fromLive(row: Row): Job {
  const { visibleAt, lockedUntil, depsLeft, cancelAt, updated } = row
  return {
    ...common(row),
    visibleAt,
    lockedUntil,
    depsLeft,
    cancelAt,
    updated,
    result: null,
    finishedAt: null,
  }
}

function fromHistory(row: History): Job {
  return {
    ...common(row),
    visibleAt: null,
    lockedUntil: null,
    cancelAt: null,
    depsLeft: 0,
    result: row.result,
    updated: row.finishedAt,
    finishedAt: row.finishedAt,
  }
}

function common(row: Row | History) {
  return {
    id: row.id,
    queue: row.queue,
    topic: row.topic,
    status: row.status,
    priority: row.priority,
    runAt: row.runAt ?? row.created,
    lockedBy: row.lockedBy,
    run: row.run,
    retries: row.retries,
    maxRetries: row.maxRetries,
    crashes: row.crashes,
    retry: row.retry as RetryPolicy | null,
    timeoutMs: row.timeoutMs ?? DEFAULTS.timeoutMs,
    uniqueKey: row.uniqueKey,
    concurrencyKey: row.concurrencyKey,
    concurrencyLimit: row.concurrencyLimit,
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
