import { newJobId } from '@oncue/core'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import type { JobEvent } from '../src/portable/events/event.ts'
import type { HubOptions } from '../src/portable/events/hub.ts'
import { type EventNews, SqlEventStore } from '../src/portable/events/store.ts'
import type { Sql } from '../src/portable/sql.ts'
import { PostgresClient } from '../src/postgres/client.ts'
import { PostgresListener } from '../src/postgres/listener.ts'
import { PostgresNotifier } from '../src/postgres/notifier.ts'
import { postgresSql } from '../src/postgres/sql-access.ts'
import { SqliteWriter } from '../src/sqlite/client.ts'
import { SqliteListener } from '../src/sqlite/listener.ts'
import { sqliteSql } from '../src/sqlite/sql-access.ts'
import { createPostgresDatabase, createSqliteDatabase, type TestDatabase } from './support/index.ts'

type Parts = { readonly sql: Sql; readonly news: EventNews; close(): Promise<void> }

function onPostgres(url: string): Parts {
  const client = new PostgresClient(url, 3)
  const listener = new PostgresListener({ connectionString: url, pool: client.pool })
  const notifier = new PostgresNotifier('oncue.events', (query) => client.query(query), true)
  return {
    sql: postgresSql(client, async () => new Date()),
    news: {
      onNews: (hear) => listener.subscribe('oncue.events', hear),
      tell: (jobId) => notifier.notify([jobId]),
    },
    async close() {
      await notifier.close()
      await listener.close()
      await client.close()
    },
  }
}

function onSqlite(url: string): Parts {
  const file = url.slice('file:'.length)
  const db = new Database(file)
  db.pragma('journal_mode = WAL')
  const reader = new Database(file, { readonly: true })
  const listener = new SqliteListener(Database, file)
  return {
    sql: sqliteSql(reader, db, new SqliteWriter(db), () => Date.now()),
    news: { onNews: (hear) => listener.onChange(() => hear(null)), tell: () => {} },
    async close() {
      await listener.close()
      reader.close()
      db.close()
    },
  }
}

const DIALECTS = [
  { name: 'Postgres', create: () => createPostgresDatabase(inject('postgresUrl')), open: onPostgres },
  { name: 'SQLite', create: createSqliteDatabase, open: onSqlite },
]

describe.each(DIALECTS)('watching on $name', ({ create, open }) => {
  let database: TestDatabase
  const closing: { close(): Promise<void> }[] = []
  beforeEach(async () => {
    database = await create()
  })
  afterEach(async () => {
    for (const part of closing.splice(0).reverse()) await part.close()
    await database.drop()
  })

  /** An event store that records what it reads and which listeners it has. */
  function start(options?: HubOptions) {
    const parts = open(database.url)
    closing.push(parts)
    const seen = { reads: 0, rows: 0, listeners: 0 }
    const sql: Sql = {
      ...parts.sql,
      async all<Row extends object>(statement: Parameters<Sql['all']>[0]) {
        const rows = await parts.sql.all<Row>(statement)
        seen.reads += 1
        seen.rows += rows.length
        return rows
      },
    }
    const news: EventNews = {
      tell: parts.news.tell,
      async onNews(hear) {
        const subscription = await parts.news.onNews(hear)
        seen.listeners += 1
        return {
          close: async () => {
            seen.listeners -= 1
            await subscription.close()
          },
        }
      },
    }
    const store = new SqlEventStore(sql, news, options)
    closing.push(store)
    return { store, sql, seen }
  }

  async function aJobId(sql: Sql): Promise<string> {
    const id = newJobId()
    const now = await sql.now()
    await sql.run({
      text: `insert into {jobs} (id, queue, topic, status, priority, max_retries, timeout_ms, payload, run_at, visible_at,
        created, updated) values (?, 'default', 'topic', 'pending', 0, 3, 1000, '1', ?, ?, ?, ?)`,
      values: [id, now, now, now, now],
    })
    return id
  }

  /** Collects what a watcher reads, until it is stopped. */
  function read(iterable: AsyncIterable<JobEvent>): { versions: number[]; end: Promise<void> } {
    const versions: number[] = []
    const end = (async () => {
      for await (const event of iterable) versions.push(event.version)
    })()
    return { versions, end }
  }

  const never = new AbortController().signal
  const ticks = (count: number) => Array.from({ length: count }, () => ({ type: 'tick' }))

  it('200 watchers of 200 jobs cost one query at a time and one listener', async () => {
    const { store, sql, seen } = start({ pollMs: 50 })
    const ids = await Promise.all(Array.from({ length: 200 }, () => aJobId(sql)))
    for (const id of ids) await store.append(id, 0, ticks(2))
    seen.reads = 0
    const { signal, stop } = stopper()
    const readers = ids.map((id) => read(store.watch(id, { signal })))
    await expect.poll(() => readers.every(({ versions }) => versions.length === 2)).toBe(true)
    expect(seen.reads).toBeLessThan(10)
    // Polling does not wait for the listener, which may still be connecting.
    await expect.poll(() => seen.listeners).toBe(1)
    const before = { ...seen, at: performance.now() }
    await expect.poll(() => seen.reads).toBeGreaterThan(before.reads + 5)
    const polls = (performance.now() - before.at) / 50
    expect(seen.reads - before.reads).toBeLessThan(polls + 5)
    expect(seen.listeners).toBe(1)
    stop()
    await Promise.all(readers.map(({ end }) => end))
    await expect.poll(() => seen.listeners).toBe(0)
  })

  it('reads at most one page ahead for a watcher that does not read', async () => {
    const { store, sql, seen } = start({ pollMs: 5, page: 10 })
    const id = await aJobId(sql)
    await store.append(id, 0, ticks(100))
    const slow = store.watch(id, { signal: never })[Symbol.asyncIterator]()
    expect((await slow.next()).value?.version).toBe(1)
    // Another watcher of the same hub reads to the end meanwhile, over several polls.
    const { signal, stop } = stopper()
    const other = read(store.watch(id, { afterVersion: 100, signal }))
    const { reads } = seen
    await expect.poll(() => seen.reads).toBeGreaterThan(reads + 5)
    expect(seen.rows).toBe(10)
    for (let version = 2; version <= 100; version++) expect((await slow.next()).value?.version).toBe(version)
    stop()
    await other.end
    await slow.return?.()
  })

  it('frees everything when a reader stops in the middle, or while it waits', async () => {
    const { store, sql, seen } = start()
    const id = await aJobId(sql)
    await store.append(id, 0, ticks(3))
    for await (const event of store.watch(id, { signal: never })) if (event.version === 2) break
    await expect.poll(() => seen.listeners).toBe(0)
    const waiting = store.watch(id, { afterVersion: 3, signal: never })[Symbol.asyncIterator]()
    const next = waiting.next()
    await expect.poll(() => seen.listeners).toBe(1)
    await waiting.return?.()
    expect(await next).toEqual({ done: true, value: undefined })
    expect(await waiting.next()).toEqual({ done: true, value: undefined })
    await expect.poll(() => seen.listeners).toBe(0)
  })

  it('resolves concurrent calls of next() in order', async () => {
    const { store, sql } = start()
    const id = await aJobId(sql)
    const watcher = store.watch(id, { signal: never })[Symbol.asyncIterator]()
    const nexts = Array.from({ length: 5 }, () => watcher.next())
    await store.append(id, 0, ticks(5))
    expect((await Promise.all(nexts)).map(({ value }) => value?.version)).toEqual([1, 2, 3, 4, 5])
    await watcher.return?.()
  })

  it('learns of events from another store long before the poll', async () => {
    const { store, sql } = start({ pollMs: 3_600_000 })
    const writer = start().store
    const id = await aJobId(sql)
    const watcher = store.watch(id, { signal: never })[Symbol.asyncIterator]()
    for (let version = 1; version <= 20; version++) {
      const next = watcher.next()
      await writer.append(id, version - 1, ticks(1))
      expect((await next).value?.version).toBe(version)
    }
    await watcher.return?.()
  })

  it('finds by polling what was not notified', async () => {
    const { store, sql } = start({ pollMs: 20 })
    const id = await aJobId(sql)
    const watcher = store.watch(id, { signal: never })[Symbol.asyncIterator]()
    const next = watcher.next()
    await sql.run({
      text: `insert into {events} (job_id, version, type, created) values (?, 1, 'run_failed', ?)`,
      values: [id, new Date(5)],
    })
    expect((await next).value).toEqual({
      jobId: id,
      version: 1,
      type: 'run_failed',
      data: null,
      created: new Date(5),
    })
    await watcher.return?.()
  })

  it('ends with STORE_CLOSED when its store is closed', async () => {
    const { store, sql } = start({ pollMs: 10 })
    const id = await aJobId(sql)
    await store.append(id, 0, ticks(1))
    const { versions, end } = read(store.watch(id, { signal: never }))
    await expect.poll(() => versions).toEqual([1])
    const ended = expect(end).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    await store.close()
    await ended
    const late = read(store.watch(id, { signal: never }))
    await expect(late.end).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })

  it('leaves no listener behind on a signal that many watches shared', async () => {
    const { store, sql } = start()
    const id = await aJobId(sql)
    await store.append(id, 0, ticks(1))
    const controller = new AbortController()
    let listening = 0
    const { signal } = controller
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listening += 1
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listening -= 1
      remove(...args)
    }
    for (let n = 0; n < 20; n++) for await (const _ of store.watch(id, { signal })) break
    expect(listening).toBe(0)
  })
})

function stopper(): { signal: AbortSignal; stop(): void } {
  const controller = new AbortController()
  return { signal: controller.signal, stop: () => controller.abort() }
}
