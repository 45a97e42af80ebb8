import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import { PrismaPg } from '@prisma/adapter-pg'
import {
  ColumnTypeEnum,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlQuery,
} from '@prisma/driver-adapter-utils'
import { dialectOf } from '../packages/db/src/url.ts'

/** Prisma's own driver adapters, extended with what its schema engine needs. */
export function adapterFor(url: string): SqlMigrationAwareDriverAdapterFactory {
  return dialectOf(url) === 'sqlite' ? sqlite(url) : postgres(url)
}

function sqlite(url: string): SqlMigrationAwareDriverAdapterFactory {
  const factory = new PrismaBetterSqlite3(
    { url },
    { shadowDatabaseUrl: ':memory:', timestampFormat: 'unixepoch-ms' },
  )
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: async () => withSingleQuotes(await factory.connect()),
    connectToShadowDb: async () => withScripts(withSingleQuotes(await factory.connectToShadowDb())),
  }
}

/** The engine puts some strings in double quotes, which SQLite as built by better-sqlite3 reads as names. */
function withSingleQuotes(adapter: SqlDriverAdapter): SqlDriverAdapter {
  const queryRaw = adapter.queryRaw.bind(adapter)
  adapter.queryRaw = (query) =>
    queryRaw({ ...query, sql: query.sql.replace(/(FROM sqlite_master .*name = )"(.*)"/, "$1'$2'") })
  return adapter
}

/** The engine sends a whole migration as one statement; better-sqlite3 prepares only a single one. */
function withScripts(adapter: SqlDriverAdapter): SqlDriverAdapter {
  adapter.executeRaw = async ({ sql }) => {
    await adapter.executeScript(sql)
    return 0
  }
  return adapter
}

function postgres(url: string): SqlMigrationAwareDriverAdapterFactory {
  const factory = new PrismaPg(url)
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: async () => withChar(await factory.connect()),
    // The adapter's own method would connect to the real database, when that is given as a URL, and would
    // drop the shadow while it is still connected to it.
    async connectToShadowDb() {
      const name = `prisma_migrate_shadow_db_${crypto.randomUUID()}`
      const shadowUrl = new URL(url)
      shadowUrl.pathname = `/${name}`
      const main = await factory.connect()
      await main.executeScript(`create database "${name}"`)
      const shadow = withChar(await new PrismaPg(shadowUrl.href).connect())
      const close = shadow.dispose.bind(shadow)
      shadow.dispose = async () => {
        await close()
        await main.executeScript(`drop database "${name}"`)
        await main.dispose()
      }
      return shadow
    },
  }
}

const CHAR = 18
const TEXT = 25

/** The adapter does not know Postgres's type "char", which many columns of the catalogs have. */
function withChar(adapter: SqlDriverAdapter): SqlDriverAdapter {
  const driver = adapter as unknown as {
    performIO(query: SqlQuery): Promise<{ fields: { dataTypeID: number }[] }>
  }
  const charColumns = new WeakMap<SqlQuery, Set<number>>()
  const performIO = driver.performIO.bind(driver)
  driver.performIO = async (query) => {
    const result = await performIO(query)
    const columns = new Set<number>()
    result.fields.forEach((field, i) => {
      if (field.dataTypeID !== CHAR) return
      field.dataTypeID = TEXT
      columns.add(i)
    })
    charColumns.set(query, columns)
    return result
  }
  const queryRaw = adapter.queryRaw.bind(adapter)
  adapter.queryRaw = async (query) => {
    const result = await queryRaw(query)
    const columns = charColumns.get(query)
    const columnTypes = result.columnTypes.map((type, i) =>
      columns?.has(i) ? ColumnTypeEnum.Character : type,
    )
    return { ...result, columnTypes }
  }
  return adapter
}
