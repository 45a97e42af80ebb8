import pg from 'pg'
import { DEFAULT_SCHEMA, renameTo } from '../schema.ts'

/** Timeout for opening a connection and for waiting for a pooled one. */
export const CONNECT_TIMEOUT_MS = 10_000

/**
 * Makes a fresh connection speak UTC and ISO dates, and read committed, whatever the server, the database
 * or the role say: dates in another style cannot be read, and the locking of our functions relies on read
 * committed. A statement and no startup parameters, because poolers refuse or ignore those.
 *
 * PgBouncer keeps track of TimeZone and DateStyle, and gives them to each server connection that it hands
 * us. It does not of the others: set through it, they would stay behind for other clients. So they are set
 * only where the server itself answers, which introduces itself by the number of its backend; elsewhere
 * our functions refuse another isolation (SQLSTATE OC003).
 */
export async function prepareSession(client: pg.ClientBase): Promise<void> {
  const { processID } = client as unknown as { processID: number | null }
  await client.query({
    text: `select set_config('TimeZone', 'UTC', false), set_config('DateStyle', 'ISO', false),
      case when pg_backend_pid() = ${Number(processID)} then
        set_config('default_transaction_isolation', 'read committed', false) || set_config('extra_float_digits', '1', false)
      end`,
    query_timeout: CONNECT_TIMEOUT_MS,
  } as pg.QueryConfig)
}

/** Connections whose statements speak of another schema, for those that do not go through PostgresClient. */
export function clientFor(schema: string): typeof pg.Client {
  if (schema === DEFAULT_SCHEMA) return pg.Client
  const rename = renameTo(schema, 'postgres')
  return class extends pg.Client {
    override query(query: never, ...rest: never[]) {
      const given = query as string | { readonly text: string }
      const renamed = typeof given === 'string' ? rename(given) : { ...given, text: rename(given.text) }
      return super.query(renamed as never, ...rest)
    }
  } as typeof pg.Client
}
