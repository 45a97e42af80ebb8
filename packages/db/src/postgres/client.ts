import type { OncueError } from '@oncue/core'
import pg from 'pg'
import { withRetries } from '../retry.ts'
import { TYPES } from './decode.ts'
import { toOncueError } from './errors.ts'
import type { Query } from './sql.ts'

type Rows = unknown[][]

/** Of a new connection, and of a free one in a pool that is used up. */
const CONNECT_TIMEOUT_MS = 10_000

/** The pool, and how to ask it again. */
export class PostgresClient {
  readonly pool: pg.Pool

  constructor(connectionString: string, max: number) {
    this.pool = new pg.Pool({
      connectionString,
      max,
      keepAlive: true,
      application_name: 'oncue',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    })
    // A connection that breaks is replaced at the next query, and the query it was in fails by itself;
    // without listeners, for idle ones and for those given out, it would end the process.
    this.pool.on('error', () => {})
    this.pool.on('connect', (client) => client.on('error', () => {}))
  }

  /** For what may be sent twice: reads, and writes that are fenced or keyed. */
  query(query: Query): Promise<Rows> {
    return withRetries(() => this.#run((client) => send(client, query)), toOncueError)
  }

  /** For what must not: sent again only when nothing was sent, or all of it was rolled back. */
  queryOnce(query: Query): Promise<Rows> {
    return withRetries(() => this.#run((client) => send(client, query)), toOncueError, wasNotWritten)
  }

  transaction(queries: readonly Query[]): Promise<void> {
    const run = async (client: pg.PoolClient) => {
      await client.query('begin')
      try {
        for (const query of queries) await send(client, query)
        await client.query('commit')
      } catch (error) {
        await client.query('rollback').catch(() => {})
        throw error
      }
    }
    return withRetries(() => this.#run(run), toOncueError, wasNotWritten)
  }

  close(): Promise<void> {
    return this.pool.end()
  }

  async #run<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect().catch((error) => {
      throw Object.assign(toOncueError(error), { [NOT_SENT]: true })
    })
    try {
      const result = await use(client)
      client.release()
      return result
    } catch (error) {
      client.release(toOncueError(error).code === 'DATABASE_UNAVAILABLE')
      throw error
    }
  }
}

const NOT_SENT = Symbol('nothing reached the database')

function wasNotWritten(error: OncueError): boolean {
  return error.code !== 'DATABASE_UNAVAILABLE' || NOT_SENT in error
}

async function send(client: pg.ClientBase, query: Query): Promise<Rows> {
  const { rows } = await client.query<unknown[]>({ ...query, rowMode: 'array', types: TYPES })
  return rows
}
