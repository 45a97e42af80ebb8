import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { prepareJob } from '@oncue/core'
import { migrate, openStore } from '@oncue/db'
import { createFolder, type Folder, type RunOptions, runProgramFile } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const LOADER = fileURLToPath(new URL('./module-loader.ts', import.meta.url))
const PROGRAM = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))
const HANDLER = 'async (job) => job.payload'

const run = (args: readonly string[], options?: RunOptions) => runProgramFile(PROGRAM, args, options)

let folder: Folder
beforeEach(async () => {
  folder = await createFolder()
})
afterEach(() => folder.remove())

/**
 * In a process of its own, because in this one vitest intercepts imports. Returns the topics,
 * or the error.
 */
async function load(...specifiers: string[]): Promise<{ topics?: string[]; error?: LoadError }> {
  const { stdout } = await promisify(execFile)(process.execPath, [LOADER, folder.path, ...specifiers])
  return JSON.parse(stdout)
}

interface LoadError {
  readonly code: string
  readonly message: string
  readonly hint: string
}

describe('a module is loaded', () => {
  test.each([
    ['an ES module', 'jobs.mjs', `export const workers = { hello: ${HANDLER} }`],
    ['the default export of an ES module', 'jobs.mjs', `export default { workers: { hello: ${HANDLER} } }`],
    ['CommonJS', 'jobs.cjs', `exports.workers = { hello: ${HANDLER} }`],
    [
      'CommonJS that assigns module.exports',
      'jobs.cjs',
      `const all = { workers: { hello: ${HANDLER} } }\nmodule.exports = all`,
    ],
    [
      'TypeScript',
      'jobs.ts',
      `export const workers: Record<string, (job: { payload: unknown }) => unknown> = { hello: ${HANDLER} }`,
    ],
    ['TypeScript as CommonJS', 'jobs.cts', `exports.workers = { hello: ((job: unknown): unknown => job) }`],
  ])('that is %s', async (_, name, text) => {
    await folder.write(name, text)
    expect(await load(`./${name}`)).toEqual({ topics: ['hello'] })
  })

  test('that is a package, resolved from the folder', async () => {
    const home = join(folder.path, 'node_modules/our-jobs')
    await mkdir(home, { recursive: true })
    await folder.write('node_modules/our-jobs/package.json', '{"type":"module","exports":"./main.js"}')
    await folder.write('node_modules/our-jobs/main.js', `export const workers = { hello: ${HANDLER} }`)
    expect(await load('our-jobs')).toEqual({ topics: ['hello'] })
  })

  test('without ./ and by an absolute path, and once however often it is named', async () => {
    const file = await folder.write('jobs.mjs', `export const workers = { hello: ${HANDLER} }`)
    expect(await load('jobs.mjs', './jobs.mjs', file)).toEqual({ topics: ['hello'] })
  })

  test('with others, one of which has only middleware', async () => {
    await folder.write('one.mjs', `export const workers = { one: ${HANDLER} }`)
    await folder.write('two.mjs', `export const workers = { two: ${HANDLER} }`)
    await folder.write('around.mjs', 'export const middleware = async (job, ctx, next) => next()')
    expect(await load('./one.mjs', './two.mjs', './around.mjs')).toEqual({ topics: ['one', 'two'] })
  })

  test('from ONCUE_IMPORT when no flag names any', async () => {
    await folder.write('jobs.mjs', `export const workers = { hello: ${HANDLER} }`)
    const env = { DATABASE_URL: ':memory:', ONCUE_IMPORT: './jobs.mjs' }
    const { code, stdout } = await run(['--once', '--json'], { cwd: folder.path, env })
    expect(stdout).toContain('"topics":["hello"]')
    expect(code).toBe(0)
  })
})

describe('a module that cannot be used is refused with a message that says', () => {
  const good = `export const workers = { hello: ${HANDLER} }`
  const BROKEN: [what: string, file: string, text: string, says: RegExp][] = [
    ['that it has no handlers', 'a.mjs', 'export const jobs = {}', /^a\.mjs exports no `workers`$/],
    [
      'that it has an empty object of them',
      'a.mjs',
      'export const workers = {}',
      /^no handlers in \.\/a\.mjs$/,
    ],
    ['that workers is not an object', 'a.mjs', 'export const workers = 7', /^a\.mjs exports 7 as `workers`$/],
    [
      'which handler is no function',
      'a.mjs',
      'export const workers = { hello: 1 }',
      /^a\.mjs: the handler of "hello" must be a function, not 1$/,
    ],
    [
      'that middleware is no function',
      'a.mjs',
      `${good}\nexport const middleware = [1]`,
      /^a\.mjs: `middleware` must be a function/,
    ],
    [
      'that a hook is not a function',
      'a.mjs',
      `${good}\nexport const setup = {}`,
      /^a\.mjs: `setup` must be/,
    ],
    [
      'file and line of a syntax error in an ES module',
      'a.mjs',
      'const a = 1\nexport const workers = {\n  x( => 1\n}',
      /^a\.mjs cannot be read at .*a\.mjs:3: Unexpected token '=>'$/,
    ],
    [
      'file and line of a syntax error in CommonJS',
      'a.cjs',
      'const a = 1\nexports.workers = {\n  x( => 1\n}',
      /^a\.cjs cannot be read at .*a\.cjs:3: Unexpected token '=>'$/,
    ],
    [
      'file and line of a syntax error in TypeScript',
      'a.ts',
      'const a: number = 1\nexport const workers = {\n  x( => 1\n}',
      /^a\.ts cannot be read at .*a\.ts:3: Unexpected token/,
    ],
    [
      'that an enum is more than types',
      'a.ts',
      `export enum Mood { Good }\n${good}`,
      /^a\.ts cannot be read at .*a\.ts:1: TypeScript enum is not supported/,
    ],
    [
      'what it threw, and where',
      'a.mjs',
      'const a = 1\nthrow new Error("no licence")',
      /^a\.mjs threw an error while it was loaded at .*a\.mjs:2: no licence$/,
    ],
    [
      'that it threw what is no error',
      'a.mjs',
      'throw null',
      /^a\.mjs threw an error while it was loaded: null$/,
    ],
    [
      'which package it misses',
      'a.mjs',
      'import "no-such-package"',
      /^a\.mjs imports a module that does not exist: Cannot find package 'no-such-package'/,
    ],
    [
      'which name the other module does not export',
      'a.mjs',
      'import { nope } from "node:fs"',
      /^a\.mjs cannot be read at .*a\.mjs:1: .*nope/,
    ],
    [
      'what is wrong with a definition',
      'a.mjs',
      'export const workers = { "not a topic": async () => {} }',
      /topic/,
    ],
  ]

  test.each(BROKEN)('%s', async (_, file, text, says) => {
    await folder.write(file, text)
    const { error } = await load(`./${file}`)
    expect(error?.message).toMatch(says)
    expect(error?.hint).toMatch(/\w/)
  })

  test('both files, when two have a handler for one topic', async () => {
    await folder.write('one.mjs', good)
    await folder.write('two.mjs', good)
    const { error } = await load('./one.mjs', './two.mjs')
    expect(error?.message).toBe('two handlers for the topic "hello": in one.mjs and in two.mjs')
  })

  test('the file and line of a syntax error in an imported file', async () => {
    await folder.write('a.mjs', `import './deep.mjs'\n${good}`)
    await folder.write('deep.mjs', '\nconst = 1')
    expect((await load('./a.mjs')).error?.message).toMatch(/^a\.mjs cannot be read at .*deep\.mjs:2: /)
  })

  test.each([
    ['./missing.ts', /^there is no file .*missing\.ts$/],
    ['missing-package', /^there is no file .*missing-package and no package missing-package$/],
  ])('that there is no %s', async (specifier, says) => {
    expect((await load(specifier)).error).toMatchObject({
      code: 'INVALID_MODULE',
      message: expect.stringMatching(says),
      hint: `Paths are relative to ${folder.path}.`,
    })
  })

  test('what is wrong with a definition, and where the module makes it', async () => {
    const core = fileURLToPath(new URL('../../../packages/core/src/index.ts', import.meta.url))
    await folder.write('a.mjs', `import { defineJobs } from '${core}'\n\ndefineJobs({ hello: 7 })`)
    const { error } = await load('./a.mjs')
    expect(error?.message).toMatch(/^a\.mjs at .*a\.mjs:3: jobs\.hello is not a definition/)
  })

  test('to name one, when none is named', async () => {
    const { code, stderr } = await run([], { cwd: folder.path, env: { DATABASE_URL: ':memory:' } })
    expect(stderr).toBe(
      'error INVALID_MODULE: no module was given\nGive a module that exports `workers`: --import ./jobs.ts\n',
    )
    expect(code).toBe(2)
  })
})

describe('the hooks of modules', () => {
  const env = { DATABASE_URL: ':memory:' }
  const says = (word: string) => `async () => { process.stdout.write('{"msg":"${word}"}\\n') }`
  const hooks = (name: string) =>
    `export const setup = ${says(`${name} is set up`)}\nexport const close = ${says(`${name} is closed`)}`
  const said = (stdout: string) => [...stdout.matchAll(/"msg":"(\w+ is [\w ]+)"/g)].map(([, word]) => word)

  test('run around all jobs: setup in order, close in the opposite order', async () => {
    await folder.write('first.mjs', hooks('first'))
    await folder.write('jobs.mjs', `${hooks('second')}\nexport const workers = { hello: ${HANDLER} }`)
    const args = ['--once', '--json', '--import', './first.mjs', '--import', './jobs.mjs']
    const { code, stdout } = await run(args, { cwd: folder.path, env })
    expect(code).toBe(0)
    expect(said(stdout)).toEqual([
      'first is set up',
      'second is set up',
      'second is closed',
      'first is closed',
    ])
    expect(stdout.indexOf('second is set up')).toBeLessThan(stdout.indexOf('worker started'))
    expect(stdout.indexOf('second is closed')).toBeGreaterThan(stdout.indexOf('worker stopped'))
  })

  test('keep the worker from starting when one fails to set up, and close the others', async () => {
    await folder.write('first.mjs', hooks('first'))
    const broken = 'export const setup = async () => { throw new Error("no licence") }'
    await folder.write('jobs.mjs', `${broken}\nexport const workers = { hello: ${HANDLER} }`)
    const args = ['--once', '--import', './first.mjs', '--import', './jobs.mjs']
    const { code, stdout, stderr } = await run(args, { cwd: folder.path, env })
    expect([code, stderr]).toEqual([2, expect.stringContaining('jobs.mjs: setup failed: no licence')])
    expect(said(stdout)).toEqual(['first is set up', 'first is closed'])
  })

  test('are called for jobs that failed permanently', async () => {
    const database = `file:${join(folder.path, 'test.db')}`
    await migrate(database)
    const store = await openStore(database)
    await store.enqueue([prepareJob('fails', 7, { retry: { max: 1, strategy: 'fixed', baseDelay: 0 } })])
    await store.close()
    await folder.write(
      'jobs.mjs',
      `export const workers = { async fails() { throw new TypeError('no luck') } }
       export async function onFailed({ topic, payload, retries }, error) {
         process.stdout.write(JSON.stringify({ topic, payload, retries, message: error.message }) + '\\n')
       }`,
    )
    const args = ['--once', '--json', '--import', './jobs.mjs']
    const { stdout } = await run(args, { cwd: folder.path, env: { DATABASE_URL: database } })
    const told = stdout.split('\n').filter((line) => line.startsWith('{"topic"'))
    expect(told.map((line) => JSON.parse(line))).toEqual([
      { topic: 'fails', payload: 7, retries: 1, message: 'no luck' },
    ])
  })
})
