import { existsSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgramFile } from '@oncue/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { openControl } from '../src/control/index.ts'
import { readMigrations } from '../src/migrate/files.ts'
import { functionSetOf, readFunctions } from '../src/migrate/functions.ts'
import { migrate, previewRollback, rollback } from '../src/migrate/migrate.ts'
import { migrationsFolder } from '../src/migrate/sources.ts'
import { openStore } from '../src/open.ts'
import { FUNCTION_SET } from '../src/postgres/function-set.ts'
import { createEmptySqliteDatabase, createPostgresDatabase, type TestDatabase } from './support/index.ts'

const program = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))
const names = (await readMigrations(migrationsFolder('sqlite'))).map(({ name }) => name)

let database: TestDatabase
let folder: string

beforeEach(async () => {
  database = await createEmptySqliteDatabase()
  folder = dirname(database.url.slice('file:'.length))
})
afterEach(() => database.drop())

const run = (args: string[], env: Record<string, string> = { DATABASE_URL: database.url }) =>
  runProgramFile(program, args, { cwd: folder, env })

describe('oncue-migrate', () => {
  test('prints what it applied, and the second time that there is nothing to do', async () => {
    expect(await run([])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^applied 0001_tables \(\d+ ms\)\n/),
    })
    expect(await run([])).toMatchObject({ code: 0, stdout: 'nothing to do: the database is up to date\n' })
  })

  test('--rollback reverts one migration at a time, until none is left', async () => {
    await run([])
    let last = await run(['--rollback', '--yes'])
    expect(last.stdout).toMatch(/^rolled back \w+ \(\d+ ms\)\n$/)
    while (last.stdout.startsWith('rolled back')) last = await run(['--rollback', '--yes'])
    expect(last).toMatchObject({
      code: 0,
      stdout: 'nothing to do: Oncue is not installed in this database\n',
    })
  })

  test('--schema, or ONCUE_SCHEMA, is another installation in the same database', async () => {
    await run([])
    expect(await run(['--status', '--schema', 'billing'])).toMatchObject({ code: 3 })
    const named = { DATABASE_URL: database.url, ONCUE_SCHEMA: 'billing' }
    expect(await run([], named)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^applied 0001_tables/),
      stderr: expect.stringContaining('oncue.db, schema billing\n'),
    })
    expect((await run(['--rollback', '--schema', 'billing'])).stdout).not.toContain('oncue_')
    expect(await run(['--rollback', '--yes'], named)).toMatchObject({ code: 0 })
    expect(await run(['--status'], named)).toMatchObject({ code: 3 })
    expect(await run(['--status'])).toMatchObject({ code: 0 })
    expect(await run(['--schema', 'public'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('error INVALID_SCHEMA: The schema "public" is reserved\n'),
    })
  })

  test('--rollback without --yes counts what would be lost, and changes nothing', async () => {
    const store = await openStore(database.url, { migrate: true })
    const { alertRules } = await openControl(store)
    await alertRules.addDefaults()
    const rules = (await alertRules.list()).length
    await store.close()
    // The last migration that created tables.
    while ((await previewRollback(database.url))?.name !== '0002_on_call') await rollback(database.url)
    const before = await run(['--status'])
    const { code, stdout } = await run(['--rollback'])
    expect(code).toBe(2)
    expect(stdout.split('\n')).toEqual([
      '0002_on_call would be rolled back; Oncue will not work until it is applied again',
      `${rules} rows would be permanently lost:`,
      '  oncue_gauges           0',
      '  oncue_pairings         0',
      '  oncue_channels         0',
      '  oncue_alerts           0',
      `  oncue_alert_rules      ${rules}`,
      '  oncue_bulk_batches     0',
      '  oncue_bulk_operations  0',
      'nothing was changed; add --yes to do it',
      '',
    ])
    expect(await run(['--status'])).toEqual(before)
  })

  test('--rollback is refused while a worker runs, unless it is forced', async () => {
    const store = await openStore(database.url, { migrate: true })
    const presence = await store.attend({
      id: '3b7d4e0e-6a53-4c7f-9d39-0f6f1d1f7a01',
      ...{ host: 'web-1', pid: 1, queues: ['default'], concurrency: 1, version: '0' },
    })
    expect(await run(['--rollback'])).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('1 worker runs: stop it first, or add --force'),
    })
    expect(await run(['--rollback', '--yes'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error INVALID_STATE: 1 worker runs on this database\n.*--force/m),
    })
    expect(await run(['--status'])).toMatchObject({ code: 0 })
    expect(await run(['--rollback', '--yes', '--force'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('rolled back'),
    })
    await presence.leave().catch(() => {})
    await store.close()
  })

  test('--status exits with 3 while something is pending, and with 0 after', async () => {
    expect(await run(['--status'])).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/pending {2}0001_tables/),
    })
    await run([])
    expect(await run(['--status'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/applied {2}0001_tables/),
    })
  })

  test('--json makes every command print JSON', async () => {
    const json = async (...args: string[]) => JSON.parse((await run(['--json', ...args])).stdout)
    expect(await json('--status')).toMatchObject({ upToDate: false, dialect: 'sqlite' })
    expect(await json()).toMatchObject({ applied: names.map((name) => ({ name })) })
    const migrations = names.map((name) => ({ name, state: 'applied' }))
    expect(await json('--status')).toMatchObject({ upToDate: true, migrations })
    expect(await json('--rollback')).toMatchObject({ rolledBack: null, preview: { name: names.at(-1) } })
    expect(await json('--rollback', '--yes')).toMatchObject({ rolledBack: { name: names.at(-1) } })
    expect(await json('--url', 'mysql://db')).toMatchObject({ error: { code: 'INVALID_DATABASE_URL' } })
  })

  test('an error is one line with its code and one with a hint, and no stack', async () => {
    const { code, stderr } = await run(['--url', 'mysql://app:secret@db'])
    expect(code).toBe(2)
    expect(stderr.split('\n')).toEqual([
      'error INVALID_DATABASE_URL: Not a database URL: "mysql://app:…@db"',
      'Use postgres://…, file:./path/to/oncue.db or :memory:.',
      '',
    ])
  })

  test('the stack is printed with DEBUG', async () => {
    const { stderr } = await run(['--url', 'mysql://db'], { DEBUG: '1' })
    expect(stderr).toMatch(/^ {4}at /m)
  })

  test(':memory: is refused, because the migrated database would be gone', async () => {
    expect(await run(['--url', ':memory:'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(':memory:'),
    })
  })

  test.each([
    [['--nope']],
    [['more']],
    [['--status', '--rollback']],
    [['--url']],
    [['--yes']],
    [['--status', '--force']],
    [['--status', '--remove-functions', '1a2b3c4d']],
    [['--remove-functions']],
  ])('%j is wrong usage: exit code 2', async (args) => {
    const { code, stderr } = await run(args)
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error INVALID_INPUT: /)
  })

  test('on Postgres: lists sets of functions, and removes one that is not in use', async () => {
    const postgres = await createPostgresDatabase(inject('postgresUrl'))
    const env = { DATABASE_URL: postgres.url }
    const others = functionSetOf(`${(await readFunctions()).sql}-- Another build.\n`)
    await migrate(postgres.url, { functions: others })
    const current = `  current  functions_${FUNCTION_SET}  last seen \\S+Z, installed by 0\\.0\\.0`
    expect(await run(['--status'], env)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^${current}\n  other    functions_${others.hash}`, 'm')),
    })
    expect(await run(['--remove-functions', others.hash], env)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^error INVALID_STATE: The functions \w+ \(0\.0\.0\) were in use at .*Z\n.*7 days/m,
      ),
    })
    const client = new pg.Client(postgres.url)
    await client.connect()
    await client.query(`update oncue.function_sets set last_seen = '2020-01-01'`)
    await client.end()
    expect(await run(['--remove-functions', others.hash], env)).toMatchObject({
      code: 0,
      stdout: `removed functions_${others.hash}\n`,
    })
    const { stdout } = await run(['--status', '--json'], env)
    expect(JSON.parse(stdout)).toMatchObject({
      upToDate: true,
      functions: [{ hash: FUNCTION_SET, state: 'current' }],
    })
    await postgres.drop()
  })

  test('--help shows examples and the exit codes', async () => {
    const { code, stdout } = await run(['--help'])
    expect(code).toBe(0)
    expect(stdout).toContain('Examples:')
    expect(stdout).toContain('Exit codes:')
  })

  test('without an address the database is a file below .data', async () => {
    await run([], {})
    expect(existsSync(join(folder, '.data/oncue.db'))).toBe(true)
  })

  test.each([[[]], [['--status']], [['--rollback', '--yes']], [['--json']]])(
    'with %j prints which database it used, and that DATABASE_URL is not set',
    async (args) => {
      expect((await run(args)).stderr).toContain(`database: ${database.url}\n`)
      const file = join(await realpath(folder), '.data/oncue.db')
      expect((await run(args, {})).stderr).toContain(`database: file:${file} (DATABASE_URL is not set)\n`)
    },
  )

  test('in production no database is assumed: without an address it fails, and creates no file', async () => {
    for (const env of [{ NODE_ENV: 'production' }, { NODE_ENV: 'production', DATABASE_URL: '' }]) {
      expect(await run([], env)).toEqual({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(
          /^error INVALID_DATABASE_URL: DATABASE_URL is not set, and NODE_ENV is production\n.*DATABASE_URL/,
        ),
      })
    }
    expect(existsSync(join(folder, '.data'))).toBe(false)
    expect(await run(['--url', database.url], { NODE_ENV: 'production' })).toMatchObject({ code: 0 })
  })

  test('a path after --url is relative to the directory of the caller', async () => {
    await mkdir(join(folder, 'caller'))
    const env = { INIT_CWD: join(folder, 'caller'), npm_package_json: join(folder, 'package.json') }
    await run(['--url', 'file:./mine.db'], env)
    expect(existsSync(join(folder, 'caller/mine.db'))).toBe(true)
  })
})
