export interface Statement {
  text: string
  /** Where it begins in its file, counted from 1. */
  line: number
}

/** Whatever may hold a semicolon or a keyword that means nothing, and what matters in between. */
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
 * Cuts a migration into statements, so that a failure can be told by its line: better-sqlite3 says
 * nothing about where, and Postgres does so only for errors of syntax.
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
