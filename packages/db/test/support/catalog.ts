import pg from 'pg'
import { loadDriver } from '../../src/sqlite/driver.ts'
import { dialectOf, sqliteFile } from '../../src/url.ts'

/**
 * One line for every definition in a database, sorted, so that two moments can be compared: to see
 * what a rollback leaves behind, or whether an installation changed objects of other projects.
 */
export function describeCatalog(url: string): Promise<string[]> {
  return dialectOf(url) === 'postgres' ? describePostgres(url) : describeSqlite(url)
}

const OTHERS = `n.nspname <> 'information_schema' and n.nspname not like 'pg\\_%'`

/** Columns are numbered among those that exist: a dropped one leaves a gap in the numbers of the catalog. */
const POSTGRES = `
select format('schema %s owner=%s acl=%s', n.nspname, n.nspowner::regrole, n.nspacl)
from pg_namespace n where ${OTHERS}
union all
select format('relation %s.%s kind=%s persistence=%s options=%s acl=%s rls=%s', n.nspname, c.relname, c.relkind,
  c.relpersistence, c.reloptions, c.relacl, c.relrowsecurity)
from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${OTHERS}
union all
select format('column %s.%s.%s #%s %s notnull=%s default=%s generated=%s%s collation=%s', n.nspname, c.relname,
  a.attname, row_number() over (partition by c.oid order by a.attnum), format_type(a.atttypid, a.atttypmod),
  a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, a.attcollation::regcollation)
from pg_attribute a
join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where ${OTHERS} and a.attnum > 0 and not a.attisdropped
union all
select format('constraint %s on %s: %s', k.conname, k.conrelid::regclass, pg_get_constraintdef(k.oid))
from pg_constraint k join pg_namespace n on n.oid = k.connamespace where ${OTHERS}
union all
select format('index %s', pg_get_indexdef(i.indexrelid))
from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace where ${OTHERS}
union all
select format('function %s acl=%s', pg_get_functiondef(p.oid), p.proacl)
from pg_proc p join pg_namespace n on n.oid = p.pronamespace where ${OTHERS} and p.prokind in ('f', 'p')
union all
select format('type %s.%s kind=%s labels=%s', n.nspname, t.typname, t.typtype,
  (select array_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid))
from pg_type t join pg_namespace n on n.oid = t.typnamespace where ${OTHERS}
union all
select format('trigger %s', pg_get_triggerdef(g.oid))
from pg_trigger g join pg_class c on c.oid = g.tgrelid join pg_namespace n on n.oid = c.relnamespace where ${OTHERS}
union all
select format('view %s.%s: %s', n.nspname, c.relname, pg_get_viewdef(c.oid))
from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${OTHERS} and c.relkind in ('v', 'm')
union all
select format('extension %s', extname) from pg_extension`

async function describePostgres(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url, application_name: 'oncue-testing' })
  await client.connect()
  try {
    const { rows } = await client.query<[string]>({ text: POSTGRES, rowMode: 'array' })
    return rows.map(([line]) => line).sort()
  } finally {
    await client.end()
  }
}

async function describeSqlite(url: string): Promise<string[]> {
  const Driver = await loadDriver()
  const db = new Driver(sqliteFile(url))
  try {
    const objects = db.prepare(
      `SELECT type || ' ' || name || ' on ' || tbl_name || ': ' || ifnull(sql, '') FROM sqlite_schema`,
    )
    return (objects.raw().all().flat() as string[]).sort()
  } finally {
    db.close()
  }
}
