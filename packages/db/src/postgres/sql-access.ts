import { type Connection, type Fragment, type Sql, toPostgres } from '../portable/sql.ts'
import { withRetries } from '../retry.ts'
import type { PostgresClient } from './client.ts'
import { TYPES } from './decode.ts'
import { toOncueError } from './errors.ts'

/**
 * On a table without statistics Postgres assumes eighty jobs per topic, and would rather sort half a
 * million of them than walk an index to the fifty that are needed.
 */
const BY_INDEX = `set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off;
set local enable_incremental_sort = off; set local jit = off`

/** Portable SQL on Postgres. `fixed` is the time of a test's clock. */
export function postgresSql(
  client: PostgresClient,
  now: () => Promise<Date>,
  fixed: () => Date | null = () => null,
): Sql {
  return {
    dialect: 'postgres',
    runtime: client.runtime,
    all: <Row extends object>(statement: Fragment) => client.rows<Row>(toPostgres(statement)),
    walk: (statement) => withRetries(() => walk(client, statement), toOncueError, undefined, client.runtime),
    run: (...statements) => client.transaction(statements.map(toPostgres)),
    write: (statement) => client.queryOnce(toPostgres(statement)),
    time: (value) => value as Date | null,
    json: (value) => value,
    now,
    clock: () => ({ text: 'coalesce(?::timestamptz, oncue.clock())', values: [fixed()] }),
    claimsInFlight: () => claimsInFlight(client),
    pool: () => {
      const { totalCount: total, idleCount: idle, waitingCount: waiting } = client.pool
      return { total, idle, waiting }
    },
  }
}

function walk<Row extends object>(client: PostgresClient, statement: Fragment): Promise<Row[]> {
  return client.inTransaction(async (_, connection) => {
    await connection.query(BY_INDEX)
    const { text, values } = toPostgres(statement)
    const { rows } = await connection.query<Row>({ text: client.rename(text), values, types: TYPES })
    return rows
  })
}

/** Prisma's SQL on Postgres, over the store's pool. */
export function postgresConnection(client: PostgresClient): Connection {
  return {
    dialect: 'postgres',
    send: (statement) => client.native({ text: statement.text, values: [...statement.values] }),
  }
}

/** A claim takes milliseconds. A transaction that takes longer (a dump, say) only reads. */
const PATIENCE_MS = 1_000
const LOOK_EVERY_MS = 5

/**
 * Waits for the transactions that may have read `slots` before the last commit: a claim among
 * them did not see a new limit, and what it took can be counted only once it has committed.
 *
 * Every read of a table leaves a lock on it until the end of its transaction, so they can be listed.
 * Locking the table instead would stop all claims behind its longest reader.
 */
async function claimsInFlight(client: PostgresClient): Promise<void> {
  const { runtime } = client
  const deadline = runtime.monotonic() + PATIENCE_MS
  let waitingFor = await lookers(client)
  while (waitingFor.length > 0 && runtime.monotonic() < deadline) {
    await runtime.sleep(LOOK_EVERY_MS)
    const still = new Set(await lookers(client))
    waitingFor = waitingFor.filter((looker) => still.has(looker))
  }
}

async function lookers(client: PostgresClient): Promise<string[]> {
  const rows = await client.rows<{ looker: string }>({
    text: `select l.virtualtransaction as looker from pg_catalog.pg_locks l
      where l.relation = 'oncue.slots'::regclass and l.pid <> pg_backend_pid()
        and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = current_database())`,
    values: [],
  })
  return rows.map((row) => row.looker)
}
