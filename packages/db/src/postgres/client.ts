import { OncueError } from '@oncue/core'
import { type Runtime, systemRuntime, withTimeout } from '@oncue/runtime'
import pg from 'pg'
import type { NativeResult } from '../portable/sql.ts'
import { driveAsync, type Row, type Steps } from '../queue/transaction.ts'
import { NOT_SENT, withRetries } from '../retry.ts'
import { DEFAULT_SCHEMA, type Rename, renameTo } from '../schema.ts'
import { NATIVE_TYPES, TYPES } from './decode.ts'
import { toOncueError } from './errors.ts'
import { abandonable, CONNECT_TIMEOUT_MS, cancelStatement, prepareSession, streamOf } from './session.ts'
import type { Query } from './sql.ts'

type Rows = unknown[][]
export type Send = (query: Query) => Promise<pg.QueryArrayResult<unknown[]>>

/** The pool, with retries. */
export class PostgresClient {
  readonly pool: pg.Pool
  /** Counts all connections of this store, also those outside the pool. */
  readonly Client: typeof pg.Client
  readonly runtime: Runtime
  /** Applied to every statement on its way to the server. */
  readonly rename: Rename
  /** False once a pooler was seen to run our statements on a connection that did not prepare them. */
  #named = true
  /** Connections that have worked before. */
  readonly #proven = new WeakSet<pg.PoolClient>()
  readonly #isOurs: boolean
  readonly #signal: AbortSignal | undefined
  /** Connections on which a statement runs. */
  readonly #inUse = new Set<pg.PoolClient>()
  /** On the monotonic clock: when a connection was last lost, or could not be had. */
  lostAt = Number.NEGATIVE_INFINITY
  /** Called when the server turns out to have become read-only, as the old one does in a failover. */
  onReadOnly = ignore

  /** A pool that is passed in belongs to its owner, with its settings and errors. */
  constructor(
    source: string | pg.Pool,
    max = 10,
    runtime: Runtime = systemRuntime,
    schema: string = DEFAULT_SCHEMA,
    signal?: AbortSignal,
  ) {
    this.#signal = signal
    this.Client = abandonable(pg.Client, signal)
    this.runtime = runtime
    this.rename = renameTo(schema, 'postgres')
    this.#isOurs = typeof source === 'string'
    if (typeof source !== 'string') {
      this.pool = source
      return
    }
    this.pool = new pg.Pool({
      Client: this.Client,
      connectionString: source,
      max,
      keepAlive: true,
      application_name: 'oncue',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      onConnect: prepareSession,
    })
    // A broken connection is replaced at the next query, and the query it was running fails by itself;
    // without listeners, on idle and on checked-out ones, it would end the process.
    this.pool.on('error', () => this.lost())
    this.pool.on('connect', (client) => client.on('error', ignore))
    this.pool.on('release', (error, client) => {
      if (!error) this.#proven.add(client)
    })
  }

  /**
   * For statements that may be sent twice: reads, and writes that are fenced or keyed. A function is called again for
   * each attempt.
   */
  query(query: Query | (() => Query)): Promise<Rows> {
    const make = typeof query === 'function' ? query : () => query
    return this.#retried(() => this.#run(async (client) => (await this.#send(client, make())).rows))
  }

  /** For statements that must not be sent twice: retried only when nothing was sent, or all of it was rolled back. */
  queryOnce(query: Query): Promise<Rows> {
    const attempt = () => this.#run(async (client) => (await this.#send(client, query)).rows)
    return this.#retried(attempt, wasNotWritten)
  }

  /** Rows as objects, for cold reads. */
  rows<Row extends object>(query: Query): Promise<Row[]> {
    return this.#retried(() =>
      this.#run(async (client) => {
        const { rows } = await client.query<Row>({ ...this.#prepared(query), types: TYPES })
        return rows
      }),
    )
  }

  /** All or none; returns how many rows the last one changed. */
  transaction(queries: readonly Query[]): Promise<number> {
    return this.inTransaction(async (send) => {
      let changed = 0
      for (const query of queries) changed = (await send(query)).rowCount ?? 0
      return changed
    })
  }

  /** For work that reads before it writes. Retried only when it was rolled back. */
  inTransaction<T>(work: (send: Send, client: pg.ClientBase) => Promise<T>): Promise<T> {
    const run = async (client: pg.PoolClient) => {
      await client.query('begin isolation level read committed')
      try {
        const result = await work((query) => this.#send(client, query), client)
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback').catch(() => {})
        throw error
      }
    }
    return this.#retried(() => this.#run(run), wasNotWritten)
  }

  /** One statement of another SQL builder: a read is repeated, a write only if nothing of it was written. */
  native(query: Query): Promise<NativeResult> {
    const isRead = /^\s*select\b/i.test(query.text)
    const attempt = () =>
      this.#run(async (client) => {
        const { fields, rows, rowCount } = await this.#send(client, query, NATIVE_TYPES)
        return { columns: fields.map(({ name }) => name), rows, changes: rowCount ?? 0 }
      })
    return this.#retried(attempt, isRead ? undefined : wasNotWritten)
  }

  /** Steps as one transaction. Repeated from the first when it was rolled back. */
  drive<T>(start: () => Steps<T>): Promise<T> {
    return this.inTransaction((_, client) =>
      driveAsync(start(), async ({ text, values }) => {
        const { rows } = await client.query<Row>({ text: this.rename(text), values, types: TYPES })
        return rows
      }),
    )
  }

  /** Records that a connection to the server was lost. */
  lost(): void {
    this.lostAt = this.runtime.monotonic()
  }

  /** Lets running statements finish; those that hang lose their connection. */
  close(): Promise<void> {
    const ending = this.pool.end()
    const cut = () => {
      for (const client of this.#inUse) streamOf(client).destroy()
      return ending
    }
    return withTimeout(ending, CLOSING_MS, cut, this.runtime)
  }

  #retried<T>(attempt: () => Promise<T>, isSafe: (error: OncueError) => boolean = () => true): Promise<T> {
    const mayRepeat = (error: OncueError) => !(USED_UP in error) && isSafe(error)
    return withRetries(attempt, toOncueError, mayRepeat, this.runtime, this.#signal)
  }

  /** A caller's pool may have no timeout, and its connections may all be in transactions that wait for this call. */
  #connect(): Promise<pg.PoolClient> {
    const connecting = this.pool.connect()
    if (this.#isOurs) return connecting
    const giveUp = () => {
      connecting.then((client) => client.release(), ignore)
      throw Object.assign(new OncueError('DATABASE_BUSY', USED_UP_MESSAGE, { hint: USED_UP_HINT }), {
        [USED_UP]: true,
      })
    }
    return withTimeout(connecting, CONNECT_TIMEOUT_MS, giveUp, this.runtime)
  }

  async #run<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect().catch((error) => {
      this.lost()
      throw Object.assign(toOncueError(error), { [NOT_SENT]: true })
    })
    this.#inUse.add(client)
    try {
      return await this.#use(client, use)
    } finally {
      this.#inUse.delete(client)
    }
  }

  async #use<T>(client: pg.PoolClient, use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const named = this.#named
    // A caller's pool has no error listener on clients that it lends out.
    client.on('error', ignore)
    try {
      const result = await use(client)
      client.off('error', ignore)
      client.release()
      this.#proven.add(client)
      return result
    } catch (error) {
      const { code } = toOncueError(error)
      const isReadOnly = code === 'DATABASE_READ_ONLY'
      const isBroken = isReadOnly || code === 'DATABASE_UNAVAILABLE'
      // A broken one may still emit an error after it was removed.
      if (isBroken) this.lost()
      else client.off('error', ignore)
      // Its statement would keep waiting on the server, with no client left to read the result.
      if (isTimeout(error)) void cancelStatement(client).then(() => client.release(true))
      else client.release(isBroken)
      if (isReadOnly) await this.#leaveServer()
      // The server has changed its role behind a working connection: a new one finds the primary.
      const isStale = isReadOnly && this.#proven.has(client)
      if (!isStale && (!named || !isUnprepared(error))) throw error
      if (isStale) return this.#run(use)
    }
    // Nothing was executed: the statement was not even bound, or its transaction was rolled back.
    this.#named = false
    return this.#run(use)
  }

  /** The idle connections go to the same server. Those of a pool that is not ours are for its owner to close. */
  async #leaveServer(): Promise<void> {
    this.onReadOnly()
    if (!this.#isOurs) return
    for (let n = this.pool.idleCount; n > 0; n--) {
      await this.pool.connect().then(
        (client) => client.release(true),
        () => {},
      )
    }
  }

  #send(client: pg.ClientBase, query: Query, types = TYPES): ReturnType<Send> {
    return client.query<unknown[]>({ ...this.#prepared(query), rowMode: 'array', types })
  }

  #prepared({ name, text, ...query }: Query): Query {
    const isNamed = this.#named && name
    return { ...query, ...(isNamed && { name: this.rename(name) }), text: this.rename(text) }
  }
}

/** Marks the error of a call that waited in vain for a connection of its caller's pool. */
const USED_UP = Symbol('no connection became free')
const USED_UP_MESSAGE = `No connection of the pool became free within ${CONNECT_TIMEOUT_MS / 1_000} s`
const USED_UP_HINT =
  'Inside a transaction pass it, { tx }, instead of waiting for another connection; otherwise use a larger pool.'

/** How long a statement may run on after the store is closed. On a half-open connection it would never end. */
const CLOSING_MS = 5_000

const ignore = () => {}

function wasNotWritten(error: OncueError): boolean {
  return error.code !== 'DATABASE_UNAVAILABLE' || NOT_SENT in error
}

/** The driver's message when `query_timeout` is reached. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/**
 * Behind a transaction pooler the next statement may go to another connection, where ours is not
 * prepared (26000), or was prepared already by another client (42P05).
 */
function isUnprepared(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === '26000' || code === '42P05'
}
