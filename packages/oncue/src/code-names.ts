import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { OncueError } from '@oncue/core'
import type * as TypeScript from 'typescript'

type Compiler = typeof TypeScript

/** What a name in the code names: the first word of the keys under which outcomes are recorded. */
export type NameKind = 'step' | 'sleep' | 'receive' | 'ask' | 'since' | 'spawn' | 'enqueue' | 'undo'

/** A name that the code gives to a call of `ctx`. */
export interface CodeName {
  readonly kind: NameKind
  /** A text, or, of a template, what stands around its values; undefined: any name, since the code computes it. */
  readonly parts: readonly string[] | undefined
  /** `src/agent.ts:12` */
  readonly place: string
}

const KINDS: Readonly<Record<string, NameKind>> = {
  step: 'step',
  plan: 'step',
  node: 'step',
  tool: 'step',
  commit: 'step',
  sleep: 'sleep',
  receive: 'receive',
  ask: 'ask',
  since: 'since',
  spawn: 'spawn',
  enqueue: 'enqueue',
  undo: 'undo',
}

/**
 * The names in modules and in what they import, packages apart. By the compiler of TypeScript, which knows templates,
 * imports and JavaScript alike; only the syntax is read, so that it takes milliseconds and needs no project that compiles.
 */
export async function namesIn(urls: readonly string[], folder: string): Promise<CodeName[]> {
  const ts = await importCompiler(folder)
  const names: CodeName[] = []
  const files = urls.map((url) => fileURLToPath(url))
  const options: TypeScript.CompilerOptions = {
    allowJs: true,
    allowImportingTsExtensions: true,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    ...pathsOf(ts, folder),
  }
  // The list grows during the walk; it ends because no file is listed twice.
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    names.push(...namesOf(ts, source, relative(folder, file)))
    for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
      const { resolvedModule } = ts.resolveModuleName(fileName, file, options, ts.sys)
      const found = resolvedModule?.resolvedFileName
      const isCode = found && !resolvedModule.isExternalLibraryImport && /\.[cm]?[jt]sx?$/.test(found)
      if (isCode && !found.endsWith('.d.ts') && !files.includes(found)) files.push(found)
    }
  }
  return names
}

/** Aliases such as `@/tools`. */
function pathsOf(ts: Compiler, folder: string): TypeScript.CompilerOptions {
  const file = ts.findConfigFile(folder, ts.sys.fileExists)
  if (!file) return {}
  const { config } = ts.readConfigFile(file, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, files: [], include: [] },
    ts.sys,
    dirname(file),
  )
  const { paths, baseUrl, pathsBasePath } = options
  return { ...(paths && { paths, pathsBasePath }), ...(baseUrl && { baseUrl }) }
}

/** TypeScript 7 cannot be called from JavaScript. The second package has the functions of version 6, beside it. */
const COMPILERS = ['typescript', '@typescript/typescript6']

async function importCompiler(folder: string): Promise<Compiler> {
  const { resolve } = createRequire(join(folder, 'package.json'))
  let version: string | undefined
  let cause: unknown
  for (const name of COMPILERS)
    try {
      const { default: found }: { readonly default?: Partial<Compiler> } = await import(
        pathToFileURL(resolve(name)).href
      )
      if (typeof found?.createSourceFile === 'function') return found as Compiler
      version ??= found?.version ?? 'found here'
    } catch (error) {
      cause ??= error
    }
  const message = 'oncue check reads the names in your code with TypeScript, and '
  throw version === undefined
    ? new OncueError('INVALID_MODULE', `${message}this project does not have it`, {
        hint: 'Add it: npm install --save-dev typescript@6. It reads JavaScript too.',
        cause,
      })
    : new OncueError('INVALID_MODULE', `${message}version ${version} has no functions for that`, {
        hint: 'Add those of version 6 beside it: npm install --save-dev @typescript/typescript6.',
      })
}

/** The names in one file: of `ctx.step('a')`, and of `step('a')` for handlers that destructure. */
function namesOf(ts: Compiler, source: TypeScript.SourceFile, path: string): CodeName[] {
  const constants = new Map<string, TypeScript.Expression>()
  const names: CodeName[] = []
  const placeOf = (node: TypeScript.Node) =>
    `${path}:${source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1}`

  const partsOf = (node: TypeScript.Expression | undefined): readonly string[] | undefined => {
    if (!node) return undefined
    if (ts.isStringLiteralLike(node)) return [node.text]
    if (ts.isTemplateExpression(node))
      return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)]
    const constant = ts.isIdentifier(node) ? constants.get(node.text) : undefined
    return constant && partsOf(constant)
  }

  const nameOfChild = (call: TypeScript.CallExpression): readonly string[] | undefined => {
    const [topic, , options] = call.arguments
    if (options && !ts.isObjectLiteralExpression(options)) return undefined
    const spread = options?.properties.some((each) => ts.isSpreadAssignment(each))
    const named = options?.properties.find((each) => each.name && each.name.getText(source) === 'name')
    if (named) return ts.isPropertyAssignment(named) ? partsOf(named.initializer) : undefined
    const parts = spread ? undefined : partsOf(topic)
    // Numbered in the order of the calls.
    return parts && [...parts.slice(0, -1), `${parts.at(-1)}#`, '']
  }

  const visit = (node: TypeScript.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer) {
      const isConstant = (node.parent.flags & ts.NodeFlags.Const) !== 0
      const isText = ts.isStringLiteralLike(node.initializer) || ts.isTemplateExpression(node.initializer)
      if (isConstant && isText) constants.set(node.name.text, node.initializer)
    }
    if (ts.isCallExpression(node)) {
      const [called, before] = calledOf(node.expression)
      const isEach = called === 'each' && before === 'step'
      const kind = isEach ? 'step' : Object.hasOwn(KINDS, called) ? KINDS[called] : undefined
      const [first] = node.arguments
      if (kind && first) {
        const isJob = kind === 'spawn' || kind === 'enqueue'
        const own = isJob ? nameOfChild(node) : partsOf(first)
        const parts = isEach ? own && [...own.slice(0, -1), `${own.at(-1)}[`, ']'] : own
        names.push({ kind, parts, place: placeOf(first) })
      }
    }
    ts.forEachChild(node, visit)
  }

  /** `step` of `ctx.step`, with what it is a property of. */
  const calledOf = (callee: TypeScript.Expression): [called: string, before: string] => {
    if (ts.isIdentifier(callee)) return [callee.text, '']
    if (!ts.isPropertyAccessExpression(callee)) return ['', '']
    return [callee.name.text, calledOf(callee.expression)[0]]
  }

  visit(source)
  return names
}

/** Whether a recorded name may be one that the code gives. */
export function matches({ parts }: CodeName, name: string): boolean {
  if (parts === undefined) return true
  const pattern = parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('.*')
  return new RegExp(`^${pattern}$`, 's').test(name)
}
