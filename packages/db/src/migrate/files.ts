import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The texts of a migration. */
export interface MigrationFiles {
  name: string
  up: string
  /** Null when there is no down.sql; a test makes sure that each of ours has one. */
  down: string | null
}

export interface Migration extends MigrationFiles {
  checksum: string
  /**
   * The migration that code must know to work with a database that has this one: the name behind `-- needs:`
   * in its file, or its own. Older code that knows that one keeps working.
   */
  needs: string
}

const NEEDS = /^-- needs: (\S+)$/m

export function toMigration({ name, up, down }: MigrationFiles): Migration {
  const checksum = createHash('sha256').update(up).digest('hex')
  return { name, up, down, checksum, needs: NEEDS.exec(up)?.[1] ?? name }
}

export async function readMigrations(folder: string): Promise<Migration[]> {
  return (await readMigrationFiles(folder)).map(toMigration)
}

export async function readMigrationFiles(folder: string): Promise<MigrationFiles[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  // By code unit, so that the order does not depend on the machine's language.
  const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
  return Promise.all(names.map((name) => readFiles(folder, name)))
}

async function readFiles(folder: string, name: string): Promise<MigrationFiles> {
  const up = await readSql(join(folder, name, 'migration.sql'))
  const down = await readSql(join(folder, name, 'down.sql')).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  return { name, up, down }
}

/** Git on Windows may check files out with CRLF, which must not look like a change. */
export async function readSql(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).replaceAll('\r\n', '\n')
}

export interface Statement {
  text: string
  /** Where it begins in its file, counted from 1. */
  line: number
}

/** Tokens that may contain a semicolon or keyword without its meaning, and the words in between. */
const TOKEN = new RegExp(
  [
    /--[^\n]*/, // comment
    /\/\*[\s\S]*?(?:\*\/|$)/, // comment
    /\b[eE]'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)/, // Postgres: string with backslashes
    /'(?:[^']|'')*(?:'|$)/, // string
    /"(?:[^"]|"")*(?:"|$)/, // name
    /\$([\p{L}_]\w*)?\$[\s\S]*?(?:\$\1\$|$)/u, // Postgres: dollar-quoted string
    /[\p{L}_][\p{L}\p{N}_$]*/u, // word
    /;/,
  ]
    .map((part) => part.source)
    .join('|'),
  'gu',
)

/**
 * Cuts a migration into statements, so that a failure can be reported with its line: better-sqlite3 does
 * not say where an error is, and Postgres does so only for syntax errors.
 *
 * A semicolon inside `CREATE … BEGIN … END` (a trigger of SQLite, a function of standard SQL on
 * Postgres) does not end the statement.
 */
export function splitStatements(sql: string): Statement[] {
  const statements: Statement[] = []
  let start: number | undefined
  let isCreate = false
  let depth = 0
  const finish = (end: number) => {
    if (start === undefined) return
    statements.push({ text: sql.slice(start, end), line: sql.slice(0, start).split('\n').length })
    start = undefined
    depth = 0
  }
  for (const { 0: token, index } of sql.matchAll(TOKEN)) {
    if (token.startsWith('--') || token.startsWith('/*')) continue
    if (token === ';' && depth > 0) continue
    if (token === ';') {
      finish(index)
      continue
    }
    const word = token.toLowerCase()
    if (start === undefined) {
      start = index
      isCreate = word === 'create'
    } else if (isCreate && (word === 'begin' || word === 'case')) depth += 1
    else if (isCreate && word === 'end' && depth > 0) depth -= 1
  }
  finish(sql.length)
  return statements
}
