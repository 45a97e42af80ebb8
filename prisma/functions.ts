import { readdir, readFile } from 'node:fs/promises'
import { DEFAULTS, LIMITS } from '../packages/core/src/job/limits.ts'
import {
  type FunctionSet,
  functionSetOf,
  installable,
  installableApi,
  namesIn,
  publicNamesIn,
} from '../packages/db/src/migrate/functions.ts'

import { columnLists } from './column-lists.ts'

const folder = new URL('./postgres/functions/', import.meta.url)

/** name → text of postgres/functions/*.sql. */
export async function readSources(): Promise<Record<string, string>> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql'))
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')))
  return Object.fromEntries(files.map((file, i) => [file.slice(0, -'.sql'.length), texts[i] ?? '']))
}

const named = (of: string, values: object) =>
  Object.entries(values).map(([name, value]) => [`${of}.${name}`, String(value)])

/** `{{limits.topicLength}}`, `{{defaults.queue}}`: values of packages/core that the SQL API checks and fills in. */
const limits = Object.fromEntries([...named('limits', LIMITS), ...named('defaults', DEFAULTS)])

/** The constant by which packages/db calls the functions. */
export function renderConstant({ hash, sql }: FunctionSet): string {
  const names = namesIn(sql).sort()
  return `// Written by prisma/generate.ts from prisma/postgres/functions. Do not edit.

/** The functions that this build calls: \`migrate\` installs them. */
export const FUNCTION_SET = '${hash}'

export type FunctionName =
${names.map((name) => `  | '${name}'`).join('\n')}
`
}

export interface BuildOptions {
  /** The text for `{{name}}` in a source. */
  readonly columns?: Readonly<Record<string, string>>
  readonly schema?: string
}

/**
 * PL/pgSQL keeps its first plan, which may have been made on an empty table: without these settings it can be a
 * sequential scan that is used for ever.
 */
const STANDARD = [
  'enable_seqscan = off',
  'enable_bitmapscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'plan_cache_mode = force_generic_plan',
  'jit = off',
]

/**
 * Everything of ours is named with its schema. Names without one, such as `json_build_object`, must be Postgres' own,
 * whatever functions of the same name other roles may have created in a schema of the caller's search path.
 */
const SEARCH_PATH = 'search_path = pg_catalog, pg_temp'

const HEADER = `-- Written by generate.ts from functions/*.sql. Do not edit.
-- \`migrate\` installs each of these under its name and the hash of this file.
`

const API_HEADER = '-- The SQL API, by these names. It calls the newest set that is installed.\n'

/**
 * Builds one set from the sources (name → text): planner settings and column lists filled in, each statement
 * after those it depends on. Pure.
 */
export function buildFunctions(
  sources: Readonly<Record<string, string>>,
  { columns = columnLists(), schema = 'oncue' }: BuildOptions = {},
): FunctionSet & { readonly install: string } {
  const built = new Map(
    Object.entries(sources)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, source]) => [name, buildOne(name, source, columns)]),
  )
  const statements = inOrder(built)
  const isPublic = (statement: string) => publicNamesIn(statement).length > 0
  const ofSet = statements.filter((statement) => !isPublic(statement))
  const set = functionSetOf([HEADER, ...ofSet, API_HEADER, ...statements.filter(isPublic)].join('\n'))
  return { ...set, install: installable(set, schema) + installableApi(set, set.hash, schema) }
}

/** A source is: perhaps a line `-- planner: …`, comments, one statement. The comments stay in the source. */
function buildOne(name: string, source: string, columns: Readonly<Record<string, string>>): string {
  const planner = /^-- planner: (.*)\n/.exec(source)?.[1] ?? 'standard'
  const statement = source.replaceAll('\r\n', '\n').replace(/^(?:--[^\n]*\n|\s*\n)*/, '')
  const created = [...namesIn(statement), ...publicNamesIn(statement)]
  if (created.length !== 1 || created[0] !== name) {
    throw new Error(`functions/${name}.sql must create oncue.${name} and nothing else`)
  }
  const filled = statement.replace(/\{\{(.*?)\}\}/g, (_, list: string) => {
    const text = columns[list.trim()] ?? limits[list.trim()]
    if (text === undefined) throw new Error(`functions/${name}.sql: nothing is known as {{${list}}}`)
    return text
  })
  const settings = settingsOf(planner)
  if (filled.startsWith('create type') || settings.length === 0) return filled
  const lines = settings.map((setting) => `\n  set ${setting}`).join('')
  return filled.replace(/^ {2}language .*$/m, `$&${lines}`)
}

function settingsOf(planner: string): readonly string[] {
  if (planner === 'none') return []
  if (planner === 'default') return [SEARCH_PATH]
  const settings = planner.split(', ').flatMap((setting) => (setting === 'standard' ? STANDARD : [setting]))
  return [SEARCH_PATH, ...settings]
}

/** The body of a PL/pgSQL function is bound when it runs. Signatures and bodies of standard SQL are bound at once. */
function inOrder(built: ReadonlyMap<string, string>): string[] {
  const done = new Set<string>()
  const add = (name: string, within: readonly string[]): void => {
    const statement = built.get(name)
    if (statement === undefined || done.has(name) || within.at(-1) === name) return
    if (within.includes(name)) throw new Error(`These functions need each other: ${within.join(', ')}`)
    const [bound = ''] = statement.split('$$', 1)
    for (const [, needed] of bound.matchAll(/\boncue\.(\w+)/g)) add(String(needed), [...within, name])
    done.add(name)
  }
  for (const name of built.keys()) add(name, [])
  return [...done].map((name) => built.get(name) ?? '')
}
