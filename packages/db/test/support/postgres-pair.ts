import { eventually, Relay } from '@oncue/testing'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { connectPostgres, type PostgresSession } from './postgres-session.ts'

const START_TIMEOUT_MS = 60_000

/** A primary and its standby, behind one address that leads to the primary. */
export interface PostgresPair {
  readonly url: string
  /** Nothing written from now on reaches the standby. Only where replication is asynchronous. */
  lag(): Promise<void>
  /** Kills the primary as a power cut would, promotes the standby, and leads the address there. */
  failOver(): Promise<void>
  stop(): Promise<void>
}

export async function startPostgresPair({ synchronous }: { synchronous: boolean }): Promise<PostgresPair> {
  const settings = { wal_level: 'replica', hot_standby: 'on', max_wal_senders: '4', max_connections: '200' }
  const primary = await startPostgres({
    settings: { ...settings, synchronous_standby_names: synchronous ? 'standby' : '' },
  })
  const started: { stop(): Promise<void> }[] = [primary]
  const stop = async () => {
    for (const one of started.splice(0).reverse()) await one.stop()
  }
  try {
    // A copy of a server that was killed is as good as a backup.
    await primary.kill()
    const replication = await startSwitch(primary.port)
    started.push(replication)
    const source = `host=127.0.0.1 port=${replication.port} user=postgres application_name=standby`
    const standby = await startPostgres({
      copyOf: primary.dataDir,
      settings: { ...settings, primary_conninfo: source, wal_retrieve_retry_interval: '100ms' },
    })
    started.push(standby)
    await primary.start()
    const proxy = await startSwitch(primary.port)
    started.push(proxy)
    await onServer(primary, (session) =>
      untilTrue(session, `select count(*) = 1 from pg_stat_replication where state = 'streaming'`),
    )
    return {
      url: Object.assign(new URL(primary.url), { port: String(proxy.port) }).href,
      stop,
      async lag() {
        await onServer(primary, async (session) => {
          const [[lsn] = []] = await session.query('select pg_current_wal_flush_lsn()')
          await untilTrue(session, `select bool_and(replay_lsn >= '${lsn}') from pg_stat_replication`)
        })
        replication.leadTo(null)
        await onServer(primary, (session) =>
          untilTrue(session, 'select count(*) = 0 from pg_stat_replication'),
        )
      },
      async failOver() {
        proxy.leadTo(null)
        await primary.kill()
        await onServer(standby, (session) => session.query('select pg_promote(true, 60)'))
        proxy.leadTo(standby.port)
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function onServer<T>(
  server: PostgresServer,
  use: (session: PostgresSession) => Promise<T>,
): Promise<T> {
  const session = await connectPostgres(server.url)
  try {
    return await use(session)
  } finally {
    await session.end()
  }
}

async function untilTrue(session: PostgresSession, question: string): Promise<void> {
  await eventually(async () => {
    const [[answer] = []] = await session.query(question)
    if (answer !== true) throw new Error(`It did not become true: ${question}`)
  }, START_TIMEOUT_MS)
}

interface Switch {
  readonly port: number
  /** Ends all connections. New ones go to that port; null: they are refused. */
  leadTo(port: number | null): void
  stop(): Promise<void>
}

async function startSwitch(first: number): Promise<Switch> {
  const urlOf = (port: number) => `postgres://127.0.0.1:${port}`
  const relay = await Relay.start(urlOf(first))
  return {
    port: Number(new URL(relay.url).port),
    leadTo(port) {
      relay.target = port === null ? null : urlOf(port)
      relay.cut()
    },
    stop: () => relay.close(),
  }
}
