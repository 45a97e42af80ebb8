import { notInside, type QueryTransaction, type Row, unsupported } from './transaction.ts'

/** The `sql` of postgres.js inside `sql.begin((sql) => …)`. */
export type PostgresJsTransaction = {
  /** `sql` itself has none. */
  savepoint(...args: never[]): Promise<unknown>
  unsafe(query: string, parameters: never[]): PromiseLike<unknown>
}

/** `fromPostgresJs(sql)`: the `tx` of an enqueue, with the `sql` that `begin` gives to its function. */
export function fromPostgresJs(sql: PostgresJsTransaction): QueryTransaction {
  if (typeof sql?.savepoint !== 'function')
    throw notInside('the `sql` of postgres.js itself', 'the one that `begin` gives to its function')
  return {
    query: (text, values) => sql.unsafe(jsonAsText(text), values as never[]).then(inSnakeCase),
  }
}

/** It makes JSON of each parameter that Postgres takes as json, and ours are JSON already. */
function jsonAsText(text: string): string {
  return text.replaceAll(/(\$\d+)::(jsonb?)\b((?:\[\])?)/g, '$1::text$3::$2$3')
}

/** Knex' transaction: `knex.transaction((trx) => …)`, on Postgres or better-sqlite3. */
export type KnexTransaction = {
  /** The database itself has none. */
  isCompleted(): boolean
  raw(sql: string, bindings: never): PromiseLike<unknown>
}

/** `fromKnex(trx)`: the `tx` of an enqueue. */
export function fromKnex(trx: KnexTransaction): QueryTransaction {
  if (typeof trx?.isCompleted !== 'function')
    throw notInside('the Knex database itself', 'the transaction instead')
  return {
    query(text, values) {
      const { sql, bindings } = withQuestionMarks(text, values)
      return trx.raw(sql, bindings as never).then(inSnakeCase)
    },
  }
}

/** Knex knows only `?`, which it numbers itself: each `$1` takes its value once more. */
function withQuestionMarks(text: string, values: unknown[]): { sql: string; bindings: unknown[] } {
  if (!/\$\d/.test(text)) return { sql: text, bindings: values }
  const bindings: unknown[] = []
  const sql = text.replaceAll('?', '\\?').replaceAll(/\$(\d+)/g, (_, position: string) => {
    bindings.push(values[Number(position) - 1])
    return '?'
  })
  return { sql, bindings }
}

/** TypeORM's manager: `dataSource.transaction((manager) => …)`, on Postgres or better-sqlite3. */
export type TypeOrmTransaction = {
  readonly queryRunner?:
    | {
        readonly isTransactionActive: boolean
        query(sql: string, parameters: unknown[], useStructuredResult: true): Promise<{ records: unknown[] }>
      }
    | undefined
}

/** `fromTypeOrm(manager)`: the `tx` of an enqueue. */
export function fromTypeOrm({ queryRunner }: TypeOrmTransaction): QueryTransaction {
  const inTransaction = () => {
    if (queryRunner?.isTransactionActive) return queryRunner
    throw notInside(
      'a TypeORM manager outside of a transaction',
      'the one that `transaction` gives to its function',
    )
  }
  inTransaction()
  return {
    // Its connection goes on after the transaction, which has ended if the call was not awaited.
    query: async (text, values) => {
      const { records } = await inTransaction()
        .query(text, values, true)
        .catch((error) => {
          // It wraps the driver's error.
          throw (error as { driverError?: unknown } | null)?.driverError ?? error
        })
      return records
    },
  }
}

/** MikroORM's entity manager: `em.transactional((em) => …)`, on Postgres. */
export type MikroOrmTransaction = {
  isInTransaction(): boolean
  getTransactionContext(): unknown
}

/** `fromMikroOrm(em)`: the `tx` of an enqueue, for MikroORM 7. */
export function fromMikroOrm(em: MikroOrmTransaction): QueryTransaction {
  if (!em.isInTransaction())
    throw notInside(
      'an EntityManager outside of a transaction',
      'the one that `transactional` gives to its function',
    )
  const context = em.getTransactionContext() as KyselyContext | undefined
  if (typeof context?.withoutPlugins !== 'function')
    throw unsupported(
      'fromMikroOrm is of another version of MikroORM than 7, or of another database than Postgres',
    )
  // Not `execute` of its connection, which writes the values into the text.
  const plain = context.withoutPlugins()
  return { query: (text, values) => plain.executeQuery(toCompiledQuery(text, values)) }
}

/** The transaction of the Kysely inside of MikroORM, which does not export what makes a query for it. */
type KyselyContext = { withoutPlugins(): { executeQuery(query: object): Promise<unknown> } }

function toCompiledQuery(sql: string, parameters: unknown[]): object {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] }
  return { sql, parameters, query, queryId: { queryId: 'oncue' } }
}

/**
 * Services rename the columns of all their results, with `postgres.camel` or `postProcessResponse` of Knex. Those that
 * Oncue reads are in snake case.
 */
function inSnakeCase(result: unknown): unknown {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | null | undefined)?.rows
  if (!Array.isArray(rows)) return result
  const entriesOf = (row: Row) => Object.entries(row).map(([name, value]) => [toSnakeCase(name), value])
  return rows.map((row: Row) => Object.fromEntries(entriesOf(row)))
}

function toSnakeCase(name: string): string {
  return name
    .replaceAll('-', '_')
    .replaceAll(/(?<!^)[A-Z]/g, '_$&')
    .toLowerCase()
}
