import { type JobId, OncueError } from '@oncue/core'
import type { Subscription } from '../../store.ts'
import { isUuid } from '../../uuid.ts'
import type { Sql } from '../sql.ts'
import {
  assertVersion,
  type EncodedEvent,
  type EventStore,
  encodeEvents,
  type JobEvent,
  listLimit,
  type NewEvent,
} from './event.ts'
import { EventHub, type HubOptions } from './hub.ts'
import { appended, current, listed, readEvents } from './sql.ts'

/** How notifications of appended events travel between processes. */
export type EventNews = {
  /** Calls back with the job that has new events; null: any job may have. */
  onNews(hear: (jobId: string | null) => void): Promise<Subscription>
  /** After an append has been committed. */
  tell(jobId: string): void
}

/** An append that loses the race for the next version this often is starved, not racing. */
const MAX_RACES = 100

/** The event streams, over either database. */
export class SqlEventStore implements EventStore {
  readonly #sql: Sql
  readonly #news: EventNews
  readonly #hub: EventHub
  #closed = false

  constructor(sql: Sql, news: EventNews, options?: HubOptions) {
    this.#sql = sql
    this.#news = news
    this.#hub = new EventHub(sql, (hear) => news.onNews(hear), options)
  }

  async list(jobId: JobId, options: { afterVersion?: number; limit?: number } = {}): Promise<JobEvent[]> {
    this.#assertOpen()
    const { afterVersion = 0, limit } = options
    assertVersion(afterVersion, 'afterVersion')
    const most = listLimit(limit)
    if (!isUuid(jobId)) return []
    return readEvents(this.#sql, listed(jobId.toLowerCase(), afterVersion, most))
  }

  async append(jobId: JobId, expectedVersion: number | null, events: readonly NewEvent[]): Promise<number> {
    this.#assertOpen()
    if (expectedVersion !== null) assertVersion(expectedVersion, 'expectedVersion')
    const encoded = encodeEvents(events)
    const id = existing(jobId)
    const version = await this.#append(id, expectedVersion, encoded)
    if (encoded.length > 0) {
      this.#hub.hear(id)
      this.#news.tell(id)
    }
    return version
  }

  watch(jobId: JobId, options: { afterVersion?: number; signal: AbortSignal }): AsyncIterable<JobEvent> {
    const { afterVersion = 0, signal } = options
    assertVersion(afterVersion, 'afterVersion')
    return this.#hub.watch(existing(jobId), afterVersion, signal)
  }

  /** Ends every watch with STORE_CLOSED. */
  close(): Promise<void> {
    this.#closed = true
    return this.#hub.close()
  }

  #assertOpen(): void {
    if (this.#closed) throw new OncueError('STORE_CLOSED', 'This store was closed')
  }

  async #append(jobId: JobId, expected: number | null, events: readonly EncodedEvent[]): Promise<number> {
    for (let race = 1; ; race++) {
      const last = await this.#tryAppend(jobId, expected, events)
      if (last !== undefined) return last
      const actual = await this.#version(jobId)
      if (expected !== null && (actual !== expected || race === MAX_RACES)) {
        const message = `The events of job ${jobId} are at version ${actual}, not ${expected}`
        throw new OncueError('VERSION_MISMATCH', message, { details: { expected, actual } })
      }
      if (race === MAX_RACES) {
        throw new OncueError('DATABASE_CONFLICT', `Too many concurrent appends to the events of job ${jobId}`)
      }
    }
  }

  /** The new version; undefined when the stream is at another version, or moved at this moment. */
  async #tryAppend(
    jobId: JobId,
    expected: number | null,
    events: readonly EncodedEvent[],
  ): Promise<number | undefined> {
    if (events.length === 0) {
      const version = await this.#version(jobId)
      return expected === null || expected === version ? version : undefined
    }
    const now = await this.#sql.now()
    try {
      const rows = await this.#sql.write(appended(this.#sql.dialect, jobId, expected, events, now))
      return rows.length === 0 ? undefined : Math.max(...rows.map(([version]) => Number(version)))
    } catch (error) {
      if (isTaken(error)) return undefined
      throw error
    }
  }

  async #version(jobId: JobId): Promise<number> {
    const [row] = await this.#sql.all<{ version: number }>(current(jobId))
    if (!row) throw notFound(jobId)
    return row.version
  }
}

/** The id as the database writes it. An invalid id would fail the query of all other watchers. */
function existing(jobId: JobId): JobId {
  if (!isUuid(jobId)) throw notFound(jobId)
  return jobId.toLowerCase()
}

function notFound(jobId: string): OncueError {
  return new OncueError('JOB_NOT_FOUND', `There is no job ${JSON.stringify(jobId.slice(0, 60))}`)
}

/** Another writer has appended this version. */
function isTaken(error: unknown): boolean {
  const code = (error as OncueError | undefined)?.details?.code
  return code === '23505' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
}
