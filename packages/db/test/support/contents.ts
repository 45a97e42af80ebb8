import pg from 'pg'
import { loadDriver } from '../../src/sqlite/driver.ts'
import { dialectOf, sqliteFile } from '../../src/url.ts'

/** One line for every row that Oncue has in a database, sorted, so that two moments can be compared. */
export function describeContents(url: string): Promise<string[]> {
  return dialectOf(url) === 'postgres' ? describePostgres(url) : describeSqlite(url)
}

async function describePostgres(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url, application_name: 'oncue-testing' })
  await client.connect()
  try {
    const tables = await client.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'oncue'::regnamespace and relkind in ('r', 'p')`,
    )
    const rows = tables.rows.map(
      ({ name }) => `select '${name} ' || to_json(t)::text as line from oncue.${name} t`,
    )
    const { rows: lines } = await client.query<{ line: string }>(rows.join(' union all '))
    return lines.map(({ line }) => line).sort()
  } finally {
    await client.end()
  }
}

async function describeSqlite(url: string): Promise<string[]> {
  const Database = await loadDriver()
  const db = new Database(sqliteFile(url), { readonly: true })
  try {
    const tables = db.prepare(`select name from sqlite_schema where type = 'table' and name like 'oncue%'`)
    const names = tables.raw().all().flat() as string[]
    const lines = names.flatMap((name) =>
      db
        .prepare(`select * from ${name}`)
        .all()
        .map((row) => `${name.slice('oncue_'.length)} ${JSON.stringify(row)}`),
    )
    return lines.sort()
  } finally {
    db.close()
  }
}
