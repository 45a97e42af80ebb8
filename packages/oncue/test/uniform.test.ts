import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createSqliteDatabase, type TestDatabase } from '@oncue/db/testing'
import { createFolder, type Outcome, runProgramFile } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PROGRAM, run } from './harness.ts'

/** Options, errors and exit codes are the same for every command, under each of its names. */

const file = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
const ALIASES: Readonly<Record<string, string>> = {
  'oncue-migrate': file('packages/db/src/cli/main.ts'),
  'oncue-worker': file('apps/worker/src/cli/main.ts'),
  'oncue-api': file('apps/api/src/main.ts'),
}

const COMMANDS: [name: string, command: string[]][] = [
  ['oncue worker', ['worker']],
  ['oncue api', ['api']],
  ['oncue dev', ['dev', '--import', PROGRAM]],
  ['oncue migrate', ['migrate']],
  ['oncue list', ['list']],
  ['oncue-worker', []],
  ['oncue-api', []],
  ['oncue-migrate', []],
]

const start = (name: string, command: string[], args: string[], env: Record<string, string> = {}) =>
  runProgramFile(ALIASES[name] ?? PROGRAM, [...command, ...args], { env })

describe.each(COMMANDS)('%s', (name, command) => {
  const refused = (outcome: Outcome, error: RegExp) => {
    expect(outcome.stderr).toMatch(error)
    expect(outcome).toMatchObject({ code: 2, stdout: '' })
  }

  test('a wrong --schema, --url or option, and no database in production: exit code 2', async () => {
    const schema = await start(name, command, ['--url', ':memory:', '--schema', 'public'])
    refused(schema, /^error INVALID_SCHEMA: The schema "public" is reserved\nUse a name/)
    const url = await start(name, command, ['--url', 'mysql://app:secret@db'])
    refused(url, /^error INVALID_DATABASE_URL: Not a database URL: "mysql:\/\/app:…@db"\nUse postgres/)
    refused(
      await start(name, command, ['--unheard-of']),
      /^error INVALID_INPUT: Unknown option '--unheard-of'\n\(see --help\)/,
    )
    const production = await start(name, command, [], { NODE_ENV: 'production' })
    refused(production, /^error INVALID_DATABASE_URL: DATABASE_URL is not set, and NODE_ENV is production\n/)
  })

  test('--json prints errors as JSON', async () => {
    const { code, stdout, stderr } = await start(name, command, ['--schema', 'public', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'INVALID_SCHEMA', hint: /^Use a name/ } })
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
  })

  test('--json prints wrong usage as JSON too, wherever it is typed', async () => {
    for (const args of [
      ['--jsom', '--json'],
      ['--json', '--jsom'],
    ]) {
      const { code, stdout, stderr } = await start(name, command, args)
      expect(JSON.parse(stdout)).toEqual({
        error: expect.objectContaining({
          code: 'INVALID_INPUT',
          message: "Unknown option '--jsom'",
          hint: 'Did you mean --json? See --help.',
        }),
      })
      expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
    }
  })

  test('--help shows examples by its own name', async () => {
    const { code, stdout } = await start(name, command.slice(0, 1), ['--help'])
    expect(code).toBe(0)
    expect(stdout).toContain(`Examples:\n  $ ${name}`)
  })
})

describe('with a database', () => {
  let database: TestDatabase
  beforeEach(async () => {
    database = await createSqliteDatabase()
  })
  afterEach(() => database.drop())

  test('a reader that closes the pipe early is no error', async () => {
    const child = spawn(process.execPath, [PROGRAM, 'enqueue', '--help'], { env: {} })
    child.stdout.destroy()
    child.stderr.setEncoding('utf8')
    let said = ''
    child.stderr.on('data', (text) => {
      said += text
    })
    const [code] = await once(child, 'close')
    expect({ code, said }).toEqual({ code: 0, said: '' })
  })

  test('colours are for terminals', async () => {
    const args = ['--url', database.url]
    await run(['queues', 'pause', 'mail', ...args])
    const piped = await run(['queues', ...args])
    const forced = await run(['queues', ...args], { env: { FORCE_COLOR: '1' } })
    expect(piped.stdout).toContain('paused by')
    expect(piped.stdout + piped.stderr).not.toContain('\u001b')
    expect(forced.stdout).toContain('\u001b[33mpaused by')
  })

  test('commands that only read the queue load neither the worker nor the API', async () => {
    const folder = await createFolder()
    const list = join(folder.path, 'loaded')
    const hook = `import { appendFileSync } from 'node:fs'
      import { registerHooks } from 'node:module'
      registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(list)}, url + '\\n'); return next(url, context) } })`
    const preload = await folder.write('preload.mjs', hook)
    const args = ['--import', preload, PROGRAM, 'list', '--url', database.url]
    const child = spawn(process.execPath, args, { env: {}, stdio: 'ignore' })
    expect(await once(child, 'close')).toEqual([0, null])
    const loaded = (await readFile(list, 'utf8')).split('\n')
    await folder.remove()
    expect(loaded.some((url) => url.endsWith('/packages/oncue/src/list.ts'))).toBe(true)
    expect(loaded.filter((url) => /\/(pino|fastify|prom-client|@trpc)\//.test(url))).toEqual([])
    expect(loaded.filter((url) => /\/apps\/(worker|api)\/src\//.test(url)).map(nameOf)).toEqual([
      'apps/api/src/command.ts',
      'apps/worker/src/cli/command.ts',
      'apps/worker/src/config.ts',
      'apps/worker/src/connections.ts',
      'apps/worker/src/poll.ts',
      'apps/worker/src/service.ts',
    ])
  })
})

const nameOf = (url: string) => url.slice(url.indexOf('/apps/') + 1)
