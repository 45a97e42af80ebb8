import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareJob } from '@oncue/core'
import { openStore, rollback, showDatabase } from '@oncue/db'
import { toDuration } from '@oncue/db/cli'
import { createSqliteDatabase, type TestDatabase } from '@oncue/db/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { call, describeBoth, run } from './harness.ts'

describeBoth('every command', (bench) => {
  test.each([
    [['enqueue', 'mail']],
    [['list']],
    [['requeue', '--topic', 'mail']],
    [['stats']],
    [['queues']],
    [['queues', 'pause', 'mail']],
    [['schedules']],
    [['doctor']],
    [['top']],
    [['pair', '--no-wait', '--server', 'https://oncue.example']],
  ])('%j says which database it used, beside its output', async (args) => {
    for (const more of [[], ['--json']]) {
      const { stdout, stderr } = await call(...args, ...more, '--url', bench.url)
      expect(stderr).toContain(`database: ${showDatabase(bench.url)}\n`)
      expect(stdout).not.toContain('database:')
    }
  })

  test('a database that is not migrated is refused with a hint, and doctor reports it too', async () => {
    await bench.store.close()
    await rollback(bench.url)
    for (const command of ['list', 'stats', 'top']) {
      expect(await bench.json([command], 1)).toMatchObject({
        error: { code: 'MIGRATION_NEEDED', hint: /npx oncue migrate/ },
      })
    }
    const { findings } = await bench.json(['doctor'], 1)
    expect(findings).toContainEqual(expect.objectContaining({ check: 'migrations', status: 'fail' }))
  })
})

describe('the command line', () => {
  const NOWHERE = { DATABASE_URL: 'postgres://app:secret@127.0.0.1:1/app' }
  /** Defaults of the options that every command has. */
  const SHARED = ['DATABASE_URL', 'ONCUE_SCHEMA']

  test('a rate without a unit is refused with how to write one', async () => {
    const { stderr } = await call('queues', 'limit', 'mail', '--rate', '5')
    expect(stderr).toContain('A rate needs its unit: 5/s, 100/min or 100/10s.')
  })

  test('a wrong time or end of an id is refused with how to write one, by its option', async () => {
    const since = await call('list', '--since', 'foo')
    expect(since.stderr).toContain(
      'Use how long ago (30m, 2h, 7d), today, yesterday, a day (2026-01-31) or a moment (2026-01-31T09:00).',
    )
    const suffix = await call('list', '--id-suffix', 'ab')
    expect(suffix.stderr).toMatch(/--id-suffix .*Use the last 4 to 32 hexadecimal digits of an id\./)
  })

  test.each(['10 feb', '2026-02-31', '2026-2-3', '2026-01-31T09:00(noon)', '31.12.2026 10:00', ''])(
    'a time that is no day of the calendar, or can be read in two ways, is refused: %s',
    async (time) => {
      const calls = [
        ...['list', 'requeue', 'run-now', 'cancel', 'delete'].flatMap((command) => [
          [command, '--since', time],
          [command, '--until', time],
        ]),
        ['failures', '--since', time],
        ['enqueue', 'mail', '--at', time],
      ]
      for (const args of calls)
        expect(await call(...args)).toMatchObject({ code: 2, stderr: /^error INVALID_INPUT: .* is invalid/ })
    },
  )

  test('a file that is not there is no database to migrate', async () => {
    const url = `file:${join(tmpdir(), 'oncue-there-is-no-such.db')}`
    for (const command of ['stats', 'list', 'top', 'queues']) {
      const { code, stderr } = await call(command, '--url', url)
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(
          /\nerror MIGRATION_NEEDED: There is no file .*no-such\.db\n.*--url.*oncue dev.* \.oncue\/oncue\.db/,
        ),
      ])
    }
  })

  test.each([
    ['enqueue', ['{}', '1']],
    ['pair', ['ONCUE_URL', '"operator"', '5m']],
    ['list', ['20']],
  ])('the help of %s shows each default once, as people would type it', async (command, defaults) => {
    const { stdout } = await call(command, '--help')
    const help = stdout.replace(/\s+/g, ' ')
    const found = [...help.matchAll(/default: ([^),]+)/g)].map(([, value]) => value)
    expect(found.filter((value) => !SHARED.includes(value ?? ''))).toEqual(defaults)
  })

  test.each([
    ['enqueue', 'mail', '--delay', '5'],
    ['enqueue', 'mail', '--timeout', '30'],
    ['pair', '--valid', '15'],
    ['list', '--since', '2'],
    ['list', '--until', '2'],
    ['worker', '--grace', '30'],
  ])('a duration without a unit is refused with how to write one: %s %s %s %s', async (...args) => {
    const { code, stderr } = await call(...args)
    expect(stderr).toContain('A duration needs its unit: 500ms, 30s, 5m, 2h or 7d.')
    expect(code).toBe(2)
  })

  test.each([
    [['queues', 'pause', 'mail', '--for', '9999d'], 'at most 30d'],
    [['worker', '--poll', 'automatic'], 'Use auto, or a duration with its unit'],
    [['queues', 'pause', 'mail', '--for', '0'], 'more than 0'],
    [['pair', '--valid', '2d'], 'at most 1d'],
    [['pair', '--valid', '0s'], 'more than 0'],
  ])('%j is refused by its option, with what is possible', async (args, possible) => {
    const { code, stderr } = await call(...args)
    expect([code, stderr]).toEqual([2, expect.stringMatching(`Option '${args.at(-2)} .*${possible}`)])
    expect(stderr).not.toMatch(/\w+Ms\b/)
  })

  test('a duration of 0 needs no unit', () => {
    expect(['0', '0s', '30s', '1.5m'].map(toDuration)).toEqual([0, 0, 30_000, 90_000])
  })

  test.each([
    [['nope']],
    [['--nope']],
    [['list', '--limit', '0']],
    [['list', '--status', 'lost']],
    [['list', '--since', 'last week']],
    [['list', '--id-suffix', 'ab']],
    [['show']],
    [['enqueue']],
    [['enqueue', 'mail', '--delay', 'soon']],
    [['enqueue', 'mail', '--after', 'it']],
    [['queues', 'limit', 'mail', '--rate', 'fast']],
    [['queues', 'limit', 'mail', '--rate', '5']],
    [['queues', 'limit', 'mail', '--rate', '5/']],
    [['queues', 'limit', 'mail', '--rate', '5/100']],
    [['queues', 'limit', 'mail', '--rate', '5/fortnight']],
    [['queues', 'limit', 'mail', '--rate', '5/s/s']],
    [['schedules', 'add', 'x', '* * * * *', 'mail', '{']],
    [['worker', '--concurrency', 'many']],
    [['worker', '--poll', 'often']],
    [['worker', '--queues', ',']],
    [['pair', '--role', 'producer']],
    [['pair', '--valid', 'long']],
  ])('%j is wrong usage: exit code 2', async (args) => {
    const { code, stderr } = await call(...args)
    expect(stderr).toMatch(/^error INVALID_INPUT: [A-Z-].*\n/)
    expect(code).toBe(2)
    const asJson = await call(...args, '--json')
    expect(JSON.parse(asJson.stdout)).toMatchObject({ error: { code: 'INVALID_INPUT', message: /^[A-Z-]/ } })
    expect(asJson).toMatchObject({ code: 2, stderr: '' })
  })

  describe('with a database', () => {
    let database: TestDatabase
    beforeEach(async () => {
      database = await createSqliteDatabase()
    })
    afterEach(() => database.drop())

    test.each([
      [['enqueue', 'not a topic'], 'INVALID_TOPIC'],
      [['enqueue', 'mail', 'not json'], 'INVALID_PAYLOAD'],
      [['requeue'], 'INVALID_INPUT'],
      [['requeue', 'x'], 'INVALID_INPUT'],
      [['list', '--text', 'x'], 'INVALID_INPUT'],
      [['list', '--cursor', 'x'], 'INVALID_CURSOR'],
    ])('%j is a mistake of the caller: exit code 2 and %s', async (args, code) => {
      const outcome = await call(...args, '--json', '--url', database.url)
      expect(JSON.parse(outcome.stdout)).toMatchObject({ error: { code } })
      expect(outcome.code).toBe(2)
    })

    test.each(['list', 'requeue'])(
      '%s --text without --since is refused, naming both options',
      async (command) => {
        const { code, stderr } = await call(command, '--text', 'a', '--url', database.url)
        expect([code, stderr]).toEqual([2, expect.stringContaining('--text needs --since')])
        expect(stderr).not.toContain('createdFrom')
      },
    )

    test('an invalid setting is refused by every command, naming its variable', async () => {
      const { code, stderr } = await run(['stats'], {
        env: { DATABASE_URL: database.url, ONCUE_LEASE: 'long' },
      })
      expect(stderr).toMatch(/^error INVALID_INPUT: ONCUE_LEASE=long must be a duration/)
      expect(code).toBe(2)
    })

    test('--url before or after the command overrides DATABASE_URL', async () => {
      for (const args of [
        ['--url', database.url, 'stats'],
        ['stats', '--url', database.url],
      ]) {
        expect(await run(args, { env: NOWHERE })).toMatchObject({
          code: 0,
          stderr: `database: ${showDatabase(database.url)}\n`,
        })
      }
    })

    test('texts of users cannot move the cursor or hide text', async () => {
      const store = await openStore(database.url)
      const text = '\u001b[2J\u202egone\u0007'
      const [id = ''] = await store.enqueue([
        prepareJob('mail', { text }, { meta: { [text]: 1 }, unique: { key: text } }),
      ])
      await store.close()
      for (const args of [['show', id], ['list']]) {
        const { stdout } = await call(...args, '--url', database.url)
        expect(stdout).not.toMatch(/[^\P{C}\n]/u)
      }
    })
  })

  test('a database that cannot be reached is a failure, exit code 1, and its password is not printed', async () => {
    const { code, stderr, stdout } = await run(['stats'], { env: NOWHERE })
    expect(stderr).toMatch(/^database: postgres:\/\/.*\nerror DATABASE_UNAVAILABLE: /)
    expect(code).toBe(1)
    const doctor = await run(['doctor'], { env: NOWHERE })
    expect(doctor).toMatchObject({ code: 1, stdout: expect.stringContaining('✗ database') })
    expect([stderr, stdout, doctor.stdout, doctor.stderr].join()).not.toContain('secret')
  })

  test.each([[['stats']], [['enqueue', 'mail']], [['doctor']], [['worker', '--import', './jobs.ts']]])(
    'in production no database is assumed: %j is refused without an address',
    async (args) => {
      const { code, stdout, stderr } = await run(args, { env: { NODE_ENV: 'production' } })
      expect(stderr).toMatch(
        /^error INVALID_DATABASE_URL: DATABASE_URL is not set, and NODE_ENV is production\n/,
      )
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    },
  )

  test('an invalid address is a mistake of the caller', async () => {
    const { code, stdout } = await call('stats', '--url', 'mysql://app:secret@db', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'INVALID_DATABASE_URL' } })
    expect(stdout).not.toContain('secret')
    expect(code).toBe(2)
  })
})
