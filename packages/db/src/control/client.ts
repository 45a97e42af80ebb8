import { isOncueError, OncueError } from '@oncue/core'
import { DbNull, type InputJsonValue } from '@prisma/client/runtime/client'
import type { ColumnTypeEnum, SqlDriverAdapterFactory, SqlQuery } from '@prisma/driver-adapter-utils'
import type { PrismaClient } from '../generated/sqlite/client.ts'
import { assertDate } from '../portable/reads/filter.ts'
import type { Connection, NativeResult, Value } from '../portable/sql.ts'

/**
 * The generated client, typed once for both dialects as SQLite's, which accepts less than Postgres'. Without
 * transactions: what must be one transaction belongs to the Store.
 */
export type Client = Omit<PrismaClient, `$${string}`> & Pick<PrismaClient, '$disconnect'>

/** What each part of Control works with. */
export type Context = {
  readonly client: Client
  readonly dialect: Connection['dialect']
  /** The database's clock, or a test's: no time comes from this process or from Prisma. */
  readonly now: () => Promise<Date>
}

/** Drops undefined values, which Prisma's types distinguish from absent ones. */
export function given<Values extends object>(values: Values) {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Name in keyof Values]?: Exclude<Values[Name], undefined> }
}

/** For a column of JSON that may also be empty, which null stands for. */
export function jsonOrNothing(value: InputJsonValue | null | undefined): InputJsonValue | typeof DbNull {
  return value ?? DbNull
}

/** The client for Postgres has more models and column types, which Control does not use. */
type Generated = typeof import('../generated/sqlite/client.ts')

/** A Prisma client over the store's own connections, with errors of Oncue. */
export async function openClient(connection: Connection): Promise<Client> {
  const options = { adapter: adapterFor(connection) }
  const { PrismaClient } =
    connection.dialect === 'postgres'
      ? ((await import('../generated/postgres/client.ts')) as unknown as Generated)
      : await import('../generated/sqlite/client.ts')
  return new PrismaClient(options).$extends({
    query: {
      async $allOperations({ args, query }) {
        assertDates(args, 'date')
        return query(args).catch(throwOurs)
      },
    },
  }) as unknown as Client
}

const COMPARISONS = ['lt', 'lte', 'gt', 'gte', 'not']

/** Checked here, because Prisma and each database refuse one in different ways. */
function assertDates(value: unknown, name: string): void {
  if (value instanceof Date) assertDate(value, name)
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value))
      assertDates(inner, COMPARISONS.includes(key) ? name : key)
}

function throwOurs(error: Error): never {
  if (isOncueError(error.cause)) throw error.cause
  throw new OncueError('DATABASE_ERROR', `Prisma: ${error.message}`, { cause: error })
}

const TEXT: typeof ColumnTypeEnum.Text = 7

function adapterFor(connection: Connection): SqlDriverAdapterFactory {
  const about = { provider: connection.dialect, adapterName: 'oncue' } as const
  return {
    ...about,
    connect: async () => ({
      ...about,
      async queryRaw(query) {
        const { columns, rows } = await send(connection, query)
        // Prisma needs the types of columns only for raw queries, which Control does not send.
        return { columnNames: [...columns], columnTypes: columns.map(() => TEXT), rows }
      },
      executeRaw: async (query) => (await send(connection, query)).changes,
      startTransaction: () => Promise.reject(new Error('Control has no transactions: use the Store')),
      executeScript: () => Promise.reject(new Error('Control runs no scripts')),
      // Both databases accept 32,766 values, Postgres twice as many.
      getConnectionInfo: () => ({ supportsRelationJoins: false, maxBindValues: 32_766 }),
      // The connections belong to the store.
      dispose: async () => {},
    }),
  }
}

function send(connection: Connection, { sql, args, argTypes }: SqlQuery): Promise<NativeResult> {
  const values = args.map((arg, i): Value => {
    const type = argTypes[i]?.scalarType
    if (typeof arg !== 'string') return arg as Value
    if (type === 'datetime') return new Date(arg)
    return type === 'int' || type === 'bigint' || type === 'float' ? Number(arg) : arg
  })
  return connection.send({ text: sql, values }).catch(throwForPrisma)
}

/** Prisma passes an error on unchanged only if it has no `code`. */
function throwForPrisma(cause: unknown): never {
  throw new Error('The database rejected a statement of Control', { cause })
}
