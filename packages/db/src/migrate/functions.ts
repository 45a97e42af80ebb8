import { createHash } from 'node:crypto'
import { DEFAULT_SCHEMA, renameTo } from '../schema.ts'
import { ownFunctions } from './sources.ts'

/** The Postgres functions of one build. Their names carry the hash, so that sets of several builds live side by side. */
export interface FunctionSet {
  readonly hash: string
  /** The source that reviews read: every name without the hash, in the schema `oncue`. */
  readonly sql: string
}

/** The type or function that a statement creates in every set. */
const CREATED = /^create (?:function|type) oncue\.(\w+)/gm
/**
 * A function of the SQL API. It exists once and calls the newest set: programs of any version call it by this name.
 * It is replaced in place, and so keeps its grants.
 */
const PUBLIC = /^create or replace function oncue\.(\w+)/gm

export async function readFunctions(): Promise<FunctionSet> {
  return functionSetOf(await ownFunctions())
}

export function functionSetOf(sql: string): FunctionSet {
  return { hash: createHash('sha256').update(sql).digest('hex').slice(0, 8), sql }
}

export function namesIn(sql: string): string[] {
  return [...sql.matchAll(CREATED)].map(([, name]) => String(name))
}

export function publicNamesIn(sql: string): string[] {
  return [...sql.matchAll(PUBLIC)].map(([, name]) => String(name))
}

/** What is sent to Postgres: each function and type of the set, and each call of one, has the hash in its name. */
export function installable({ hash, sql }: FunctionSet, schema?: string): string {
  return withHash(sql.slice(0, apiStart(sql)), namesIn(sql), hash, schema)
}

/** The SQL API, calling the set with this hash. */
export function installableApi({ sql }: FunctionSet, hash: string, schema?: string): string {
  return withHash(sql.slice(apiStart(sql)), namesIn(sql), hash, schema)
}

/** The API comes last. */
function apiStart(sql: string): number {
  const start = sql.search(PUBLIC)
  return start === -1 ? sql.length : start
}

function withHash(sql: string, known: readonly string[], hash: string, schema = DEFAULT_SCHEMA): string {
  const names = new Set(known)
  const hashed = sql.replace(/\boncue\.(\w+)/g, (text, name: string) =>
    names.has(name) ? `${text}_${hash}` : text,
  )
  return renameTo(schema, 'postgres')(hashed)
}
