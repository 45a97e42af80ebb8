import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { REFERENCE } from './.vitepress/pages.ts'

/**
 * A page for each entry of the package `oncue`: its exports as the compiler declares them, with their comments. Written for
 * each build of the site, which fails here if an export has no comment.
 */

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const config = at('../packages/oncue/tsconfig.json')
const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile(config, ts.sys.readFile).config,
  ts.sys,
  at('../packages/oncue'),
)
const fileOf = (entry: string) => at(`../packages/oncue/src/${entry}.ts`)
const program = ts.createProgram({
  // All of them: of a file that is found through node_modules alone, no declarations are written.
  rootNames: globSync('{packages/*,apps/api,apps/worker}/src/**/*.ts', { cwd: at('..') })
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => at(`../${file}`)),
  options: { ...options, noEmit: false, declaration: true, emitDeclarationOnly: true, removeComments: false },
})
const checker = program.getTypeChecker()

/** The statements of a file's declarations, by the name that they declare. */
function declaredIn(file: ts.SourceFile): Map<string, ts.Statement[]> {
  let text = ''
  program.emit(file, (name, written) => (text = name.endsWith('.d.ts') ? written : text), undefined, true)
  const byName = new Map<string, ts.Statement[]>()
  for (const statement of ts.createSourceFile('declared.d.ts', text, ts.ScriptTarget.Latest, true)
    .statements) {
    const names = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations.map((declaration) => declaration.name.getText())
      : [(statement as ts.Statement & { name?: ts.Identifier }).name?.text ?? '']
    for (const name of names) byName.set(name, [...(byName.get(name) ?? []), statement])
  }
  return byName
}
const declared = new Map<ts.SourceFile, Map<string, ts.Statement[]>>()

interface Exported {
  readonly name: string
  readonly kind: string
  readonly comment: string
  readonly code: string
}

function exportsOf(entry: string): Exported[] {
  const module = checker.getSymbolAtLocation(program.getSourceFile(fileOf(entry)) as ts.SourceFile)
  return checker.getExportsOfModule(module as ts.Symbol).map((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    const file = target.declarations?.[0]?.getSourceFile()
    if (!file) throw new Error(`${symbol.name} is declared nowhere`)
    if (!declared.has(file)) declared.set(file, declaredIn(file))
    const statements = declared.get(file)?.get(target.name) ?? []
    const comment = ts.displayPartsToString(target.getDocumentationComment(checker))
    if (statements.length === 0)
      throw new Error(`${symbol.name} is not in the declarations of ${file.fileName}`)
    return { name: symbol.name, kind: kindOf(statements), comment, code: codeOf(statements) }
  })
}

function kindOf([first]: readonly ts.Statement[]): string {
  if (first && ts.isFunctionDeclaration(first)) return 'Functions'
  if (first && ts.isClassDeclaration(first)) return 'Classes'
  return first && ts.isVariableStatement(first) ? 'Values' : 'Types'
}

/** Without the comment above it, which is shown as text; a value that lists everything is its name alone. */
function codeOf(statements: readonly ts.Statement[]): string {
  const [first] = statements
  const code = statements
    .map((statement) => statement.getText().replaceAll(/^export (declare )?/g, ''))
    .join('\n')
  const isLong = first && ts.isVariableStatement(first) && code.split('\n').length > 60
  return isLong ? (code.split('\n')[0] ?? '').replace(/ *\{$/, ' …') : code.replaceAll('    ', '  ')
}

const escaped = (text: string) =>
  text.replaceAll(/(`[^`]*`)|[<{]/g, (found, code) => code ?? (found === '<' ? '&lt;' : '&#123;'))
/** A type may be called like a function but for its first letter. */
const anchorOf = ({ name, kind }: Exported) => `${kind === 'Types' ? 'type-' : ''}${name.toLowerCase()}`

const pages = REFERENCE.map(({ page, title, entry, about }) => ({
  page,
  title,
  about,
  exports: exportsOf(entry),
}))
/** A link to where a name is explained: on the page that is read, or on the first that has it. */
function linkTo(name: string, here: string): string[] {
  for (const { page, exports } of [...pages.filter(({ page }) => page === here), ...pages]) {
    const found = exports.find((exported) => exported.name === name)
    if (found) return [`[${name}](${page === here ? '' : `${page}.md`}#${anchorOf(found)})`]
  }
  return []
}

function toMarkdown({ page, title, about, exports }: (typeof pages)[number]): string {
  const section = (exported: Exported) => {
    const { name, comment, code } = exported
    const words = code.replaceAll(/\/\*.*?\*\/|'[^'\n]*'/gs, '').match(/\b[A-Z]\w+\b/g) ?? []
    const links = [...new Set(words)]
      .filter((word) => word !== name)
      .sort()
      .flatMap((word) => linkTo(word, page))
    const heading = `### ${name} {#${anchorOf(exported)}}`
    return [
      heading,
      escaped(comment),
      `\`\`\`ts\n${code}\n\`\`\``,
      ...(links.length > 0 ? [`See ${links.join(', ')}`] : []),
    ].join('\n\n')
  }
  const groups = ['Functions', 'Classes', 'Values', 'Types'].flatMap((kind) => {
    const some = exports
      .filter((exported) => exported.kind === kind)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    return some.length > 0 ? [`## ${kind}`, ...some.map(section)] : []
  })
  return [`# ${title} {#top}`, `${about[0]?.toUpperCase()}${about.slice(1)}.`, ...groups, ''].join('\n\n')
}

const uncommented = pages.flatMap(({ page, exports }) =>
  exports.filter(({ comment }) => comment === '').map(({ name }) => `${page}: ${name}`),
)
if (uncommented.length > 0)
  throw new Error(`exports without a comment:\n${[...new Set(uncommented)].join('\n')}`)

rmSync(at('reference'), { recursive: true, force: true })
mkdirSync(at('reference'))
for (const page of pages) writeFileSync(at(`reference/${page.page}.md`), toMarkdown(page))
