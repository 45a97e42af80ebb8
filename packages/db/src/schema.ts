import { OncueError } from '@oncue/core'
import type { Steps } from './queue/transaction.ts'
import type { DialectName } from './url.ts'

/** The schema of an installation on Postgres; on SQLite, followed by `_`, the prefix of its tables and indexes. */
export const DEFAULT_SCHEMA = 'oncue'

/** Postgres cuts names at 63 bytes: prepared statements begin with the schema. */
const MAX_LENGTH = 32

/** Keywords that Postgres would have to have quoted, and names that Postgres, SQLite or other programs use. */
const RESERVED = new Set(
  `all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case cast char
  character check coalesce collate collation column concurrently constraint create cross current_catalog current_date
  current_role current_schema current_time current_timestamp current_user dec decimal default deferrable desc distinct do
  else end except exists extract false fetch float for foreign freeze from full grant greatest group grouping having ilike
  in initially inner inout int integer intersect interval into is isnull join json json_array json_arrayagg json_exists
  json_object json_objectagg json_query json_scalar json_serialize json_table json_value lateral leading least left like
  limit localtime localtimestamp merge_action national natural nchar none normalize not notnull null nullif numeric offset
  on only or order out outer overlaps overlay placing position precision primary real references returning right row
  select session_user setof similar smallint some substring symmetric system_user table tablesample then time timestamp to
  trailing treat trim true union unique user using values varchar variadic verbose when where window with xmlattributes
  xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable
  information_schema plpgsql public sqlite`.split(/\s+/),
)

/** The name that was given, or the default. Throws INVALID_SCHEMA. */
export function toSchema(schema: string = DEFAULT_SCHEMA): string {
  const reason =
    typeof schema !== 'string' || !/^[a-z_][a-z0-9_]*$/.test(schema)
      ? 'must consist of a-z, 0-9 and _, and not begin with a digit'
      : schema.length > MAX_LENGTH
        ? `is longer than ${MAX_LENGTH} characters`
        : RESERVED.has(schema) || /^(pg|sqlite)_/.test(schema)
          ? 'is reserved'
          : null
  if (reason === null) return schema
  const shown = JSON.stringify(schema)?.slice(0, 100)
  throw new OncueError('INVALID_SCHEMA', `The schema ${shown} ${reason}`)
}

/** What to do about MIGRATION_NEEDED in a schema that is not the default one. */
export const migrationHint = (schema: string) =>
  `Run \`npx oncue migrate --schema ${schema}\` against this database.`

/** Rewrites a statement for the default schema to one for another schema. */
export type Rename = (sql: string) => string

/**
 * Where statements name the schema. On Postgres: before a dot, also in names of tables as text, in settings and in
 * names of prepared statements; and as the name of a schema or of the notification channel. On SQLite: before an
 * underscore. Any other `oncue` is data, such as the queue of that name.
 */
const WRITTEN = {
  postgres:
    /\boncue(?="?\.)|(?<=\b(?:pg_notify|to_regnamespace)\(')oncue(?=')|(?<=')oncue(?='::regnamespace)|(?<=\bschema )oncue\b/g,
  sqlite: /\boncue_/g,
}

/** Varying texts (filters, inserts of odd sizes) are evicted now and then; those of the hot path soon return. */
const MAX_KEPT = 1_000

const unchanged: Rename = (sql) => sql

/** Rewrites each text once. For the default schema it does nothing. */
export function renameTo(schema: string, dialect: DialectName): Rename {
  if (schema === DEFAULT_SCHEMA) return unchanged
  const name = dialect === 'postgres' ? schema : `${schema}_`
  const kept = new Map<string, string>()
  return (sql) => {
    const known = kept.get(sql)
    if (known !== undefined) return known
    const renamed = sql.replace(WRITTEN[dialect], name)
    if (kept.size >= MAX_KEPT) kept.clear()
    kept.set(sql, renamed)
    return renamed
  }
}

/** The same steps in another schema: for connections that are not ours. */
export function* renamed<T>(steps: Steps<T>, rename: Rename): Steps<T> {
  let next = steps.next()
  while (!next.done) next = steps.next(yield { ...next.value, text: rename(next.value.text) })
  return next.value
}
