import { existsSync, readFileSync } from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { findModule } from './find-module.ts'
import { addEntries, blankComments, rangeOf } from './json-text.ts'
import { type Project, parseManifest } from './project.ts'

/** A file to be created, or to be changed. */
export interface Change {
  /** From the folder of the project. */
  readonly path: string
  /** Null: the file is created. */
  readonly before: string | null
  readonly after: string
}

export interface Plan {
  readonly changes: readonly Change[]
  /** The module with the handlers, as it is or will be. */
  readonly module: string
  /** What people have to know or to do themselves. */
  readonly notes: readonly string[]
}

/** The versions that package.json asks for. */
export interface Versions {
  readonly oncue: string
  readonly zod: string
}

/** Everything that `oncue init` would do. Nothing, if it has been done. */
export function planInit(project: Project, versions: Versions): Plan {
  const notes: string[] = []
  const found = findModule(project.folder)
  const created = found === null ? newModules(project) : []
  const module = found ?? `./${created.at(-1)?.path}`
  const changes = [
    ...created,
    changeManifest(project, module, versions, notes),
    ...(found === null ? [changeTsconfig(project)] : []),
    changeGitignore(project),
  ]
  if (found === null && project.tsconfig !== null && ignoresExports(project.tsconfig, project.dependencies))
    notes.push(
      'tsconfig.json resolves packages in a way that does not know `exports`: the compiler will not find oncue (TS2307). Set "module": "nodenext", or "moduleResolution": "bundler" if a bundler builds the project',
    )
  return { changes: changes.filter((change) => change.after !== change.before), module, notes }
}

/** Definitions apart from handlers: who enqueues imports nothing of what runs the jobs. */
function newModules({ folder, tsconfig, type, framework }: Project): Change[] {
  const script = tsconfig === null ? 'js' : 'ts'
  // Node takes a file with this extension as a module, whatever package.json says. Next.js compiles its own files.
  const isModule = type === 'module' || (type === null && framework === 'Next.js')
  const extension = isModule ? script : `m${script}`
  const source = existsSync(join(folder, 'src')) ? 'src' : ''
  const names = ['jobs', 'workers'].map((name) => `${name}.${extension}`)
  const isTaken = names.some((name) => existsSync(join(folder, source, name)))
  const home = isTaken ? join(source, 'oncue') : source
  const [jobs = '', workers = ''] = names
  return [
    { path: join(home, jobs), before: null, after: JOBS },
    { path: join(home, workers), before: null, after: toWorkers(jobs) },
  ]
}

const JOBS = `import { defineJobs, job } from 'oncue'
import { z } from 'zod'

/** What can be enqueued. Import this where you enqueue: it loads no handlers. */
export const jobs = defineJobs({
  greet: job({
    input: z.object({ name: z.string() }),
    output: z.object({ greeting: z.string() }),
  }),
})
`

const toWorkers = (jobs: string) => `import { defineWorkers } from 'oncue'
import { jobs } from './${jobs}'

/** What runs the jobs. \`oncue worker\` and \`oncue dev\` load this file. */
export const workers = defineWorkers(jobs, {
  async greet({ payload }) {
    return { greeting: \`Hello, \${payload.name}\` }
  },
})
`

/** What Node and people add to package.json; the rest of its text stays as it is. */
function changeManifest(
  { folder, manifest, dependencies }: Project,
  module: string,
  versions: Versions,
  notes: string[],
) {
  const wanted = {
    'jobs:dev': 'oncue dev',
    'jobs:migrate': 'oncue migrate',
    'jobs:worker': `oncue worker --import ${module}`,
  }
  const { scripts = {} } = parseManifest(join(folder, 'package.json'), manifest)
  for (const [name, command] of Object.entries(wanted)) {
    if (scripts[name] !== undefined && scripts[name] !== command)
      notes.push(`package.json has another script ${name}, which stays. Oncue's would be: ${command}`)
  }
  const missing = Object.entries(versions).filter(([name]) => !(name in dependencies))
  const zod = /\d+/.exec(dependencies.zod ?? '')?.[0]
  if (zod !== undefined && Number(zod) < 4)
    notes.push(`Oncue needs zod ${versions.zod}; package.json asks for ${dependencies.zod}`)
  const added = Object.fromEntries(Object.entries(wanted).filter(([name]) => !(name in scripts)))
  const isDone = missing.length === 0 && Object.keys(wanted).every((name) => name in scripts)
  return {
    path: 'package.json',
    before: manifest,
    after: isDone
      ? manifest
      : addEntries(addEntries(manifest, 'scripts', added), 'dependencies', Object.fromEntries(missing)),
  }
}

const ALLOWS_EXTENSIONS = /"(allowImportingTsExtensions|rewriteRelativeImportExtensions)"\s*:\s*true/

/**
 * Node needs the extension of a TypeScript file in an import, and the compiler refuses it unless told otherwise. A text edit,
 * because tsconfig.json has comments.
 */
function changeTsconfig({ folder, tsconfig }: Project): Change {
  const before = tsconfig === null ? null : readFileSync(tsconfig, 'utf8')
  const path = 'tsconfig.json'
  if (tsconfig === null || before === null) return { path, before: '', after: '' }
  const option = '"rewriteRelativeImportExtensions": true'
  if (textsOf(tsconfig).some((text) => ALLOWS_EXTENSIONS.test(text))) return { path, before, after: before }
  const plain = blankComments(before)
  const [, indent = '  '] = /\n([ \t]+)"/.exec(before) ?? []
  const line = before.includes('\r\n') ? '\r\n' : '\n'
  const options = rangeOf(plain, 'compilerOptions')
  const insert = (at: number, text: string) => before.slice(0, at) + text + before.slice(at)
  if (options === null) {
    const at = plain.indexOf('{') + 1
    // Without braces, as a file without text, it has no options.
    const after = at === 0 ? before : insert(at, `${line}${indent}"compilerOptions": { ${option} },`)
    return { path: relative(folder, tsconfig), before, after }
  }
  const { start, end } = options
  const isEmpty = before.slice(start + 1, end).trim() === ''
  const after = isEmpty
    ? `${before.slice(0, start)}{ ${option} ${before.slice(end)}`
    : insert(start + 1, `${line}${indent}${indent}${option},`)
  return { path: relative(folder, tsconfig), before, after }
}

/** Whether the compiler looks for a package by its folders alone, as it did by default until TypeScript 6. */
function ignoresExports(tsconfig: string, { typescript = '' }: Project['dependencies']): boolean {
  const settingOf = (name: string) =>
    textsOf(tsconfig)
      .map((text) => new RegExp(`"${name}"\\s*:\\s*"([^"]+)"`).exec(text)?.[1]?.toLowerCase())
      .find((value) => value !== undefined)
  const resolution = settingOf('moduleResolution')
  if (resolution !== undefined) return ['node', 'node10', 'classic'].includes(resolution)
  const isOld = Number(/\d+/.exec(typescript)?.[0] ?? 6) < 6
  return isOld && !/^(node\d+|nodenext|preserve)$/.test(settingOf('module') ?? 'commonjs')
}

/** A tsconfig.json and the files that it extends by path, without comments: `tsc --init` writes most options as such. */
function textsOf(file: string, depth = 0): string[] {
  if (!existsSync(file) || depth > 8) return []
  const text = blankComments(readFileSync(file, 'utf8'))
  const [, base] = /"extends"\s*:\s*"(\.[^"]+)"/.exec(text) ?? []
  if (base === undefined) return [text]
  const path = join(dirname(file), base)
  return [text, ...textsOf(extname(path) === '.json' ? path : `${path}.json`, depth + 1)]
}

function changeGitignore({ folder }: Project): Change {
  const file = join(folder, '.gitignore')
  const before = existsSync(file) ? readFileSync(file, 'utf8') : null
  const lines = before?.split('\n').map((line) => line.trim()) ?? []
  const isIgnored = lines.some((line) => /^\/?\.oncue\/?$/.test(line))
  const end = before === null || before === '' || before.endsWith('\n') ? '' : '\n'
  return { path: '.gitignore', before, after: isIgnored ? (before ?? '') : `${before ?? ''}${end}.oncue/\n` }
}
