import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
// Not `createRequire` by name: what people put before a bundle in ESM declares it.
import Module from 'node:module'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isOncueError, OncueError, type PlainWorkers, type Workers } from '@oncue/core'
import { readWorkers } from '@oncue/core/internal'
import type { Middleware } from './middleware.ts'
import { type NamedHooks, readHooks } from './module-hooks.ts'

export interface LoadedModules {
  readonly workers: (Workers | PlainWorkers)[]
  readonly middleware: Middleware[]
  readonly hooks: NamedHooks[]
  /** Their URLs, for child processes that load them again. */
  readonly urls: string[]
}

/**
 * Imports the modules that hold handlers: TypeScript or JavaScript, ESM or CJS, by path or package name, both resolved
 * from `folder`. Errors name the module.
 */
export async function loadModules(specifiers: readonly string[], folder: string): Promise<LoadedModules> {
  const loaded: LoadedModules = { workers: [], middleware: [], hooks: [], urls: [] }
  const owners = new Map<string, string>()
  for (const specifier of specifiers) {
    const file = findModule(specifier, folder)
    const url = pathToFileURL(file).href
    if (loaded.urls.includes(url)) continue
    loaded.urls.push(url)
    const name = isAbsolute(specifier) ? specifier : relative(folder, file)
    const { workers, middleware, hooks } = readExports(await importModule(url, name), name)
    for (const topic of workers ? readWorkers(workers, name).keys() : []) {
      const owner = owners.get(topic)
      if (owner) throw broken(`two handlers for the topic "${topic}": in ${owner} and in ${name}`)
      owners.set(topic, name)
    }
    if (workers) loaded.workers.push(workers)
    loaded.middleware.push(...middleware)
    loaded.hooks.push(hooks)
  }
  if (owners.size === 0) {
    throw broken(
      specifiers.length ? `no handlers in ${specifiers.join(', ')}` : 'no module was given',
      specifiers.length ? EXPORT_HINT : 'Give a module that exports `workers`: --import ./jobs.ts',
    )
  }
  return loaded
}

const EXPORT_HINT =
  'Write `export const workers = defineWorkers(jobs, { … })`, or a plain object of topic: async (job, ctx) => result.'

function findModule(specifier: string, folder: string): string {
  const file = specifier.startsWith('file:') ? fileURLToPath(specifier) : resolve(folder, specifier)
  if (existsSync(file)) return file
  const isPath = /^(\.{0,2}[/\\]|[a-z]:\\|file:)/i.test(specifier)
  try {
    if (!isPath) return Module.createRequire(join(folder, 'package.json')).resolve(specifier)
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') {
      throw broken(
        `${specifier} is a package that can only be loaded with \`import\``,
        'Give the path of its file.',
        cause,
      )
    }
  }
  throw broken(
    isPath ? `there is no file ${file}` : `there is no file ${file} and no package ${specifier}`,
    `Paths are relative to ${folder}.`,
  )
}

async function importModule(url: string, name: string): Promise<Record<string, unknown>> {
  try {
    return await import(url)
  } catch (error) {
    const { code, message = String(error), stack = '' } = (error ?? {}) as Partial<NodeJS.ErrnoException>
    if (isOncueError(error)) throw broken(`${name}${throwPlace(stack, url)}: ${message}`, error.hint, error)
    if (error instanceof SyntaxError) {
      const place = syntaxPlace(stack) || syntaxPlace(await explain(url))
      throw broken(`${name} cannot be read${place}: ${message}`, SYNTAX_HINTS[code ?? ''], error)
    }
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') {
      throw broken(
        `${name} imports a module that does not exist: ${message.split('\n')[0]}`,
        NOT_FOUND_HINT,
        error,
      )
    }
    throw broken(
      `${name} threw an error while it was loaded${throwPlace(stack, url)}: ${message}`,
      undefined,
      error,
    )
  }
}

const NOT_FOUND_HINT =
  'Install the package, or correct the path; a path needs its extension, such as ./mail.ts.'

const SYNTAX_HINTS: Readonly<Record<string, string>> = {
  ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX:
    'Node only strips types: use erasable syntax (no enum, namespace or parameter property), or compile the module first.',
}

/** Where Node found a syntax error: the line above the code that it shows. */
function syntaxPlace(text: string): string {
  const [, file, line] = /^(?:file:\/\/)?(\/.+|[A-Za-z]:\\.+):(\d+)$/m.exec(text) ?? []
  return file ? ` at ${file}:${line}` : ''
}

/** Where a module threw: in its own file if that is on the stack, and not in what it called. */
function throwPlace(stack: string, url: string): string {
  const frames = [...stack.matchAll(/^ +at (?:.*\()?(?:file:\/\/)?((?:\/|[A-Za-z]:\\).+?):(\d+):\d+\)?$/gm)]
  const [, file, line] = frames.find(([, path]) => path === fileURLToPath(url)) ?? frames[0] ?? []
  return file ? ` at ${file}:${line}` : ''
}

/**
 * Node reports the place of a syntax error in an ES module only when a process dies of it. So a child process does:
 * nothing of the module runs there, since all of it is parsed first.
 */
function explain(url: string): Promise<string> {
  const args = ['--input-type=module', '--eval', `import ${JSON.stringify(url)}`]
  return new Promise((done) => {
    execFile(process.execPath, args, { timeout: 10_000 }, (_error, _stdout, stderr) => done(stderr))
  })
}

function readExports(module: Record<string, unknown>, name: string) {
  // Node may offer the exports of CJS only as the default export.
  const from = (key: string) => module[key] ?? (module.default as Record<string, unknown> | undefined)?.[key]
  const middleware = [from('middleware') ?? []].flat()
  for (const item of middleware) {
    if (typeof item !== 'function')
      throw broken(`${name}: \`middleware\` must be a function, or a list of them`)
  }
  const workers = from('workers')
  const hooks = readHooks(from, name)
  const hasHooks = Boolean(hooks.setup ?? hooks.close ?? hooks.onFailed)
  // A module may export only middleware or hooks. One with neither was meant to have handlers.
  if (workers === undefined && middleware.length === 0 && !hasHooks)
    throw broken(`${name} exports no \`workers\``, EXPORT_HINT)
  return {
    workers: workers as Workers | PlainWorkers | undefined,
    middleware: middleware as Middleware[],
    hooks,
  }
}

function broken(message: string, hint?: string, cause?: unknown): OncueError {
  return new OncueError('INVALID_MODULE', message, { hint, cause })
}
