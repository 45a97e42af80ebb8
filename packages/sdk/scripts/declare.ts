import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'
import { keepComments } from '../../../scripts/release/comments.ts'
import { HOME, ROOT } from './home.ts'

const API = join(HOME, 'src/api.ts')
const CORE = ['index', 'internal', 'wire/index']
/** Core first, because dependencies of the others are not emitted. */
const ENTRIES = [
  ...CORE.map((entry) => `../core/src/${entry}.ts`),
  'src/index.ts',
  'src/react.ts',
  'src/testing.ts',
].map((entry) => join(HOME, entry))
const WRITTEN_OUT = ['Inputs', 'Outputs']
const OF_THE_ROUTER = [...WRITTEN_OUT, 'Procedures', 'RouterOutputs', 'WithoutIds', 'KindOf']

/**
 * Writes the declarations of the SDK and of core, once for modules and once for CommonJS. Types that the SDK takes
 * from the API's router are written out as plain objects, so that nothing of the server is published, and the
 * compilers of users do not have to compute them again.
 */
export async function declare(folder: string): Promise<void> {
  const program = ts.createProgram(ENTRIES, readOptions())
  for (const [path, text] of declarations(program)) {
    const target = join(folder, path)
    await mkdir(dirname(target), { recursive: true })
    const module = CORE.reduce((written, entry) => {
      const name = `@oncue/core/${entry}`.replace(/\/index$/, '')
      return written.replaceAll(`from '${name}'`, `from '../core/${entry}.js'`)
    }, text)
    await writeFile(target, module)
    await writeFile(target.replace(/\.d\.ts$/, '.d.cts'), module.replace(/(?<=from '\..*)\.js(?=')/g, '.cjs'))
  }
}

function readOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(HOME, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, HOME)
  return {
    ...options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: ROOT,
    outDir: ROOT,
  }
}

/** By their paths: `sdk/index.d.ts`, `core/index.d.ts` and so on. */
function declarations(program: ts.Program): Map<string, string> {
  const found = new Map<string, string>()
  const keep = (path: string, text: string) => {
    const [, name, file] = /^packages\/(sdk|core)\/src\/(.*)$/.exec(relative(ROOT, path)) ?? []
    if (name === undefined || file === undefined) return
    const own = name === 'sdk' && file === 'api.d.ts' ? writeOut(program, text) : text
    found.set(`${name}/${file}`, own.replace(/(?<=from '\.[^']+)\.ts(?=')/g, '.js'))
  }
  const { emitSkipped } = program.emit(undefined, keep, undefined, true, keepComments(program))
  if (emitSkipped) throw new Error('the declarations cannot be written: does it compile?')
  return found
}

/** The declarations of api.ts, without the types of the router. */
function writeOut(program: ts.Program, text: string): string {
  const file = ts.createSourceFile('api.d.ts', text, ts.ScriptTarget.Latest)
  const kept = file.statements.filter((statement) => {
    if (ts.isImportDeclaration(statement)) return false
    return !ts.isTypeAliasDeclaration(statement) || !OF_THE_ROUTER.includes(statement.name.text)
  })
  const printer = ts.createPrinter()
  const rest = kept.map((statement) => printer.printNode(ts.EmitHint.Unspecified, statement, file))
  const types = WRITTEN_OUT.map((name) => `export type ${name} = ${expanded(program, name)}`)
  return [...types, ...rest, ''].join('\n')
}

/** Noun by noun and verb by verb, because the types above those are tRPC's. */
function expanded(program: ts.Program, name: string): string {
  const file = program.getSourceFile(API)
  const alias = file?.statements.find(
    (statement) => ts.isTypeAliasDeclaration(statement) && statement.name.text === name,
  )
  if (!file || !alias) throw new Error(`src/api.ts has no type ${name}`)
  const checker = program.getTypeChecker()
  const membersOf = (type: ts.Type) =>
    checker.getPropertiesOfType(type).map((member) => [member.name, checker.getTypeOfSymbol(member)] as const)
  const { NoTruncation, InTypeAlias, UseSingleQuotesForStringLiteralType } = ts.TypeFormatFlags
  const flags = NoTruncation | InTypeAlias | UseSingleQuotesForStringLiteralType
  const leaf = (path: string, type: ts.Type) => {
    // Older compilers know only the first of its parameters.
    const text = checker.typeToString(type, file, flags).replace(/(?<=^AsyncIterable<.*), any, any>$/, '>')
    const stray = /\bimport\(.{0,80}|\bany\b/.exec(text)
    if (stray) throw new Error(`${name}.${path} cannot be written out: it has ${stray[0]}`)
    return text
  }
  const nouns = membersOf(checker.getTypeAtLocation(alias)).map(([noun, verbs]) => {
    const lines = membersOf(verbs).map(([verb, type]) => `    ${verb}: ${leaf(`${noun}.${verb}`, type)}`)
    return `  ${noun}: {\n${lines.join('\n')}\n  }`
  })
  return `{\n${nouns.join('\n')}\n}`
}
