import { Relay, until } from '@oncue/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { migrate } from '../src/migrate/migrate.ts'
import { openStore } from '../src/open.ts'
import { aJob } from './conformance/harness.ts'
import {
  borrowPostgresDatabase,
  connectPostgres,
  createDatabase,
  createEmptyPostgresDatabase,
  createEmptySqliteDatabase,
  DIALECTS,
  holdWrites,
} from './support/index.ts'

const REASON = new Error('asked to stop')
const TOPIC = { topic: 'mail', input: {}, output: {}, policy: {} }
const WAITING = `select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

async function silentServer(): Promise<Relay> {
  const relay = await Relay.start(inject('postgresUrl'))
  onTestFinished(() => relay.close())
  return relay
}

describe.each(DIALECTS)('a store whose signal is aborted, on %s', (dialect) => {
  it('gives up a write that waits for another connection, and closes', async () => {
    const database = await createDatabase(dialect)
    onTestFinished(() => database.drop())
    const stopping = new AbortController()
    const store = await openStore(database.url, { signal: stopping.signal })
    const release = await holdWrites(database.url)
    const announced = expect(store.announce([TOPIC])).rejects.toBe(REASON)
    stopping.abort(REASON)
    await announced
    await expect(store.enqueue([aJob()])).rejects.toBe(REASON)
    await store.close()
    await release()
    const other = await openStore(database.url)
    expect([await other.topics(), (await other.stats()).pending]).toEqual([[], 0])
    await other.close()
  })

  it('is not opened', async () => {
    const database = await createDatabase(dialect)
    onTestFinished(() => database.drop())
    await expect(openStore(database.url, { signal: AbortSignal.abort(REASON) })).rejects.toBe(REASON)
  })

  it('applies no migration that has to wait for a lock', async () => {
    const empty =
      dialect === 'postgres'
        ? createEmptyPostgresDatabase(inject('postgresUrl'))
        : createEmptySqliteDatabase()
    const database = await empty
    onTestFinished(() => database.drop())
    await migrate(database.url)
    const release = await holdWrites(database.url)
    const stopping = new AbortController()
    const opened = openStore(database.url, { migrate: true, signal: stopping.signal })
    stopping.abort(REASON)
    await expect(opened).rejects.toBe(REASON)
    await release()
  })
})

describe('a store on Postgres whose signal is aborted', () => {
  it('cancels its statements on the server', async () => {
    const database = await borrowPostgresDatabase(inject('postgresUrl'))
    onTestFinished(() => database.drop())
    const session = await connectPostgres(database.url)
    const stopping = new AbortController()
    const store = await openStore(database.url, { signal: stopping.signal })
    const release = await holdWrites(database.url)
    const announced = expect(store.announce([TOPIC])).rejects.toBe(REASON)
    await until(async () => (await session.query(WAITING)).length === 1)
    stopping.abort(REASON)
    await announced
    expect(await session.query(WAITING)).toEqual([])
    await store.close()
    await session.end()
    await release()
  })

  it('keeps what a statement wrote before it was cancelled, and reports it', async () => {
    const database = await borrowPostgresDatabase(inject('postgresUrl'))
    onTestFinished(() => database.drop())
    const stopping = new AbortController()
    const store = await openStore(database.url, { signal: stopping.signal })
    const job = aJob()
    const enqueued = store.enqueue([job]).then(
      () => true,
      () => false,
    )
    stopping.abort(REASON)
    const isStored = await enqueued
    await store.close()
    const other = await openStore(database.url)
    expect((await other.get(job.id)) !== null).toBe(isStored)
    await other.close()
  })

  it('does not wait for a server that never replies', async () => {
    const relay = await silentServer()
    relay.vanish()
    const stopping = new AbortController()
    const opened = openStore(relay.url, { signal: stopping.signal })
    await relay.connected
    stopping.abort(REASON)
    await expect(opened).rejects.toBe(REASON)
  })

  it('does not wait for a server that stopped replying', async () => {
    const database = await borrowPostgresDatabase(inject('postgresUrl'))
    onTestFinished(() => database.drop())
    const relay = await Relay.start(database.url)
    onTestFinished(() => relay.close())
    const stopping = new AbortController()
    const store = await openStore(relay.url, { signal: stopping.signal })
    relay.vanish()
    const enqueued = expect(store.enqueue([aJob()])).rejects.toBe(REASON)
    stopping.abort(REASON)
    await enqueued
    await store.close()
  })
})
