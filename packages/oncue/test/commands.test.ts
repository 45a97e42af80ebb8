import { randomUUID } from 'node:crypto'
import { prepareJob } from '@oncue/core'
import { openStore, rollback, type Store, showDatabase } from '@oncue/db'
import { toDuration } from '@oncue/db/cli'
import { createSqliteDatabase, type TestDatabase } from '@oncue/db/testing'
import { renderUnicodeCompact } from 'uqr'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { call, callAloud, DATABASES, run } from './harness.ts'

const WORKER = '3b7d4e0e-6a53-4c7f-9d39-0f6f1d1f7a01'
const ERROR = { class: 'TypeError', message: 'no such user', fingerprint: 'aaaaaaaaaaaaaaaa' }

describe.each(DATABASES)('on %s', (_, create) => {
  let database: TestDatabase
  let store: Store
  const others: Store[] = []

  beforeEach(async () => {
    database = await create()
    store = await openStore(database.url)
  })
  afterEach(async () => {
    for (const other of [store, ...others.splice(0)]) await other.close()
    await database.drop()
  })

  const text = async (...args: string[]) => (await call(...args, '--url', database.url)).stdout

  const json = async (args: readonly string[], code = 0) => {
    const outcome = await call(...args, '--url', database.url, '--json')
    expect(outcome).toMatchObject({ code })
    return JSON.parse(outcome.stdout)
  }

  const add = async (topic = 'mail', options = {}) => {
    const [id = ''] = await store.enqueue([prepareJob(topic, { user: 7 }, options)])
    return id
  }

  const failOne = async () => {
    const id = await add('mail', { maxRetries: 0 })
    const { jobs } = await store.claim({ queues: ['default'], limit: 1, worker: WORKER, leaseMs: 30_000 })
    await store.settle(jobs.map((job) => ({ id: job.id, run: job.run, kind: 'fail', error: ERROR })))
    return id
  }

  /** A store on which it is that much earlier. */
  const storeOf = async (agoMs: number) => {
    const past = await openStore(database.url, { clock: () => new Date(Date.now() - agoMs) })
    others.push(past)
    return past
  }

  const attend = async (info: { pid: number; queues: string[] }, agoMs: number) => {
    const past = await storeOf(agoMs)
    await past.attend({ id: randomUUID(), host: 'web-1', concurrency: 10, version: '0', ...info })
  }

  /** What doctor finds, by the name of its check. */
  const diagnose = async () => {
    const { findings } = await json(['doctor'])
    return (check: string) => findings.find((finding: { check: string }) => finding.check === check)
  }

  test('enqueue adds a job with all that is said about it, and answers its id', async () => {
    const flags = [
      '--queue',
      'high',
      '--priority',
      '5',
      '--delay',
      '1h',
      '--max-retries',
      '7',
      '--timeout',
      '2m',
    ]
    const keys = ['--unique', 'only-one', '--meta', 'agent_id=7', '--meta', 'kind=daily']
    const { id } = await json(['enqueue', 'mail', '{"user":7}', ...flags, ...keys])
    expect(await store.get(id)).toMatchObject({
      topic: 'mail',
      payload: { user: 7 },
      queue: 'high',
      priority: 5,
      maxRetries: 7,
      timeoutMs: 120_000,
      uniqueKey: 'only-one',
      meta: { agent_id: 7, kind: 'daily' },
    })
    expect(await json(['enqueue', 'mail', '{}', '--unique', 'only-one'])).toEqual({ id })
  })

  test('enqueue follows what a worker announced for the topic, and else the environment', async () => {
    const policy = { queue: 'high', priority: 3, maxRetries: 9, timeoutMs: 5_000 }
    await store.announce([{ topic: 'mail', input: {}, output: {}, policy }])
    const env = { DATABASE_URL: database.url, ONCUE_RETRY_MAX: '1' }
    const known = await run(['enqueue', 'mail'], { env })
    expect(await store.get(known.stdout.trim())).toMatchObject(policy)
    expect(known.stderr).toBe(`database: ${showDatabase(database.url)}\n`)
    const unknown = await run(['enqueue', 'other'], { env })
    expect(await store.get(unknown.stdout.trim())).toMatchObject({ queue: 'default', maxRetries: 1 })
    expect(unknown.stderr).toBe(
      `database: ${showDatabase(database.url)}\nnote: no worker has announced the topic other yet\n`,
    )
  })

  test('enqueue reads standard input: one payload, or one on every line', async () => {
    const env = { DATABASE_URL: database.url }
    const one = await run(['enqueue', 'mail', '-'], { env, input: '{"from":"a pipe"}' })
    expect(await store.get(one.stdout.trim())).toMatchObject({ payload: { from: 'a pipe' } })
    const many = await run(['enqueue', 'row', '--lines', '--json'], {
      env,
      input: '{"n":1}\n\n{"n":2}\n{"n":3}',
    })
    const { ids } = JSON.parse(many.stdout)
    expect(ids).toHaveLength(3)
    expect(await store.get(ids[2])).toMatchObject({ payload: { n: 3 } })
  })

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
  ])('%j says which database it used, beside its answer', async (args) => {
    for (const more of [[], ['--json']]) {
      const { stdout, stderr } = await call(...args, ...more, '--url', database.url)
      expect(stderr).toContain(`database: ${showDatabase(database.url)}\n`)
      expect(stdout).not.toContain('database:')
    }
  })

  test.each([
    ['5/s', 1_000, 'at most 5 starts per 1.0s'],
    ['5/sec', 1_000, 'at most 5 starts per 1.0s'],
    ['5/min', 60_000, 'at most 5 starts per 1m'],
    ['5/1m', 60_000, 'at most 5 starts per 1m'],
    ['5/10s', 10_000, 'at most 5 starts per 10s'],
    ['5/1.5h', 5_400_000, 'at most 5 starts per 1h 30m'],
    ['5/day', 86_400_000, 'at most 5 starts per 1d'],
  ])('a rate of %s is 5 in %i ms', async (rate, intervalMs, said) => {
    expect(await text('queues', 'limit', 'mail', '--rate', rate)).toBe(`mail: ${said}\n`)
    expect(await store.queues()).toMatchObject([{ limit: { rate: { count: 5, intervalMs } } }])
  })

  test('list filters and pages', async () => {
    const failed = await failOne()
    await add('other', { meta: { agent_id: 7 } })
    expect((await json(['list'])).items).toHaveLength(2)
    expect(await json(['list', '--status', 'failed', '--topic', 'mail', '--since', '1h'])).toMatchObject({
      items: [{ id: failed }],
      total: 1,
    })
    expect((await json(['list', '--meta', 'agent_id=7'])).items).toMatchObject([{ topic: 'other' }])
    const first = await json(['list', '--limit', '1'])
    const second = await json(['list', '--limit', '1', '--cursor', first.nextCursor])
    expect([first, second].map(({ items }) => items[0].topic)).toEqual(['other', 'mail'])
    const stdout = await text('list')
    expect(stdout).toMatch(/^ID +STATUS +TOPIC/)
    expect(stdout).toContain('TypeError: no such user')
  })

  test('show tells everything about a job, also by the beginning of its id', async () => {
    const id = await failOne()
    expect(await json(['show', id])).toMatchObject({
      id,
      status: 'failed',
      payload: { user: 7 },
      lastError: ERROR,
    })
    const stdout = await text('show', id.slice(0, 13))
    for (const part of [id, 'TypeError: no such user', '"user": 7', 'fingerprint aaaaaaaaaaaaaaaa']) {
      expect(stdout).toContain(part)
    }
  })

  test('show leaves out what an event does not have', async () => {
    const nightly = { unique: { key: 'nightly', onConflict: 'replace' } }
    const id = await add('mail', nightly)
    expect(await add('mail', nightly)).toBe(id)
    expect(await text('show', id)).toMatch(/ replaced$/m)
  })

  test('requeue, cancel and delete act on ids, and say what they skipped', async () => {
    const [failed, waiting] = [await failOne(), await add()]
    expect(await json(['requeue', failed])).toEqual({ done: 1, skipped: {} })
    expect(await json(['cancel', waiting])).toEqual({ done: 1, skipped: {} })
    expect(await json(['delete', failed])).toEqual({ done: 1, skipped: {} })
    expect(await json(['delete', failed], 1)).toEqual({ done: 0, skipped: { JOB_NOT_FOUND: 1 } })
    expect(await json(['cancel', waiting], 1)).toEqual({ done: 0, skipped: { INVALID_STATE: 1 } })
    const events = await store.events.list(waiting)
    expect(events).toMatchObject([{ data: { by: expect.stringContaining('@') } }])
  })

  test('by a filter they only say how many match, until --yes', async () => {
    const id = await failOne()
    await add()
    expect(await json(['requeue', '--topic', 'mail'], 2)).toMatchObject({ matching: 1, done: 0 })
    expect(await store.get(id)).toMatchObject({ status: 'failed' })
    expect(await json(['requeue', '--topic', 'mail', '--yes'])).toEqual({ done: 1, skipped: {} })
    expect(await store.get(id)).toMatchObject({ status: 'pending' })
  })

  test.each([
    ['--topic', ''],
    ['--id-prefix', ''],
    ['--text', ' ', '--since', '2h'],
  ])('a variable that was not set reaches no job: %s "%s"', async (...filter) => {
    const id = await failOne()
    for (const yes of [[], ['--yes']]) {
      const { code, stderr } = await call('delete', ...filter, ...yes, '--url', database.url)
      expect([code, stderr]).toEqual([2, expect.stringContaining('is empty, which would match every job')])
    }
    expect(await store.get(id)).toMatchObject({ status: 'failed' })
  })

  test('stats counts', async () => {
    await failOne()
    await add('other')
    expect(await json(['stats'])).toMatchObject({ failed: 1, pending: 1, completed: 0, successRate: 0 })
    expect(await json(['stats', '--topic', 'other'])).toMatchObject({ failed: 0, pending: 1 })
    expect(await text('stats')).toMatch(/^failed +1$/m)
  })

  test('queues are listed, paused, resumed and limited', async () => {
    await add('mail', { queue: 'high' })
    expect(await json(['queues'])).toMatchObject([{ queue: 'high', waiting: 1, paused: null, limit: null }])
    await json(['queues', 'pause', 'high'])
    await json(['queues', 'limit', 'high', '--running', '5', '--rate', '100/1m'])
    expect(await json(['queues', 'list'])).toMatchObject([
      {
        queue: 'high',
        paused: { by: expect.stringContaining('@') },
        limit: { maxRunning: 5, rate: { count: 100, intervalMs: 60_000 } },
      },
    ])
    await json(['queues', 'resume', 'high'])
    await json(['queues', 'limit', 'high', '--off'])
    expect(await store.queues()).toMatchObject([{ paused: null, limit: null }])
    expect(await json(['queues', 'limit', 'high'], 2)).toMatchObject({ error: { code: 'INVALID_INPUT' } })
  })

  test('a queue that is limited to 0 is named as such by queues, doctor and top', async () => {
    await add('mail', { queue: 'high' })
    await store.limit({ queue: 'high' }, { maxRunning: 0, rate: null })
    for (const command of ['queues', 'top']) expect(await text(command)).toMatch(/high .* limited to 0$/m)
    expect((await diagnose())('paused')).toMatchObject({
      status: 'warn',
      found: 'high (limited to 0, 1 waiting)',
      advice: expect.stringContaining('queues limit <queue> --off'),
    })
  })

  test("pausing Oncue's own queue says that no alerts are sent, and doctor says it too", async () => {
    expect(await text('queues', 'pause', 'oncue')).toContain('no alerts are sent while it is paused')
    expect(await text('queues', 'pause', 'high')).not.toContain('alert')
    const { found } = (await diagnose())('paused')
    expect(found).toMatch(/high \(by \S+, 0 waiting\)/)
    expect(found).toMatch(/oncue \(by \S+, 0 waiting; no alerts are sent while it is paused\)/)
    await store.resume('oncue')
    await store.limit({ queue: 'oncue' }, { maxRunning: 0 })
    expect((await diagnose())('paused').found).toContain(
      'oncue (limited to 0, 0 waiting; no alerts are sent while it is limited to 0)',
    )
  })

  test('schedules are added, changed, listed, run, paused, resumed and removed', async () => {
    const adding = ['schedules', 'add', 'digest', '0 9 * * *', 'mail', '{"all":true}']
    await json([...adding, '--timezone', 'Asia/Shanghai', '--queue', 'high'])
    await json([...adding, '--timezone', 'Europe/Berlin', '--queue', 'high', '--missed', 'one'])
    expect(await json(['schedules'])).toMatchObject([
      {
        name: 'digest',
        cron: '0 9 * * *',
        timezone: 'Europe/Berlin',
        payload: { all: true },
        options: { queue: 'high' },
        missed: 'one',
        source: 'database',
        paused: null,
      },
    ])
    const { id } = await json(['schedules', 'run', 'digest'])
    expect(await store.get(id)).toMatchObject({ topic: 'mail', queue: 'high', payload: { all: true } })
    await json(['schedules', 'pause', 'digest'])
    expect(await json(['schedules', 'list'])).toMatchObject([
      { nextAt: null, paused: { by: expect.any(String) } },
    ])
    await json(['schedules', 'resume', 'digest'])
    await json(['schedules', 'remove', 'digest'])
    expect(await json(['schedules'])).toEqual([])
    expect(await json(['schedules', 'run', 'digest'], 1)).toMatchObject({
      error: { code: 'SCHEDULE_NOT_FOUND' },
    })
    expect(await json(['schedules', 'add', 'x', 'never', 'mail'], 2)).toMatchObject({
      error: { code: 'INVALID_CRON' },
    })
  })

  test('doctor says which worker is silent, and that its queues are served by nobody', async () => {
    await attend({ pid: 4711, queues: ['default'] }, 90_000)
    await add()
    const found = await diagnose()
    expect(found('workers')).toEqual({
      check: 'workers',
      status: 'warn',
      found: expect.stringMatching(/^0 workers with 0 slots; missing: web-1 pid 4711, seen 1m 3\ds ago$/),
      advice: expect.stringContaining('No jobs run: start one'),
    })
    expect(found('queues')).toMatchObject({ status: 'warn', found: 'no worker serves default (1 waiting)' })
    // Nobody is late who is not waited for.
    expect(found('lateness')).toMatchObject({ status: 'ok' })
    await attend({ pid: 4712, queues: ['default'] }, 0)
    const later = await diagnose()
    expect(later('workers')).toMatchObject({
      status: 'warn',
      found: expect.stringContaining('1 worker with 10 slots; missing: web-1 pid 4711'),
      advice: expect.stringContaining('The other workers take over their jobs'),
    })
    expect(later('queues')).toMatchObject({ status: 'ok' })
  })

  test('doctor says which services have different schemas of a topic', async () => {
    expect((await diagnose())('schemas')).toMatchObject({ status: 'ok' })
    const info = { host: 'web-1', pid: 1, queues: ['default'], concurrency: 1, version: '0' }
    for (const [service, input] of [
      ['billing', { type: 'object' }],
      ['reports', { type: 'string' }],
    ] as const) {
      const worker = randomUUID()
      await store.announce([{ topic: 'report', input, output: {}, policy: {} }], { worker, service })
      await store.attend({ id: worker, ...info })
    }
    expect((await diagnose())('schemas')).toMatchObject({
      status: 'warn',
      found: 'different schemas: report: billing (1 worker) and reports (1 worker)',
      advice: expect.stringContaining('Rename the topic'),
    })
  })

  test('schedules says whose code has one', async () => {
    const schedule = { cron: '@daily', timezone: 'UTC', payload: {}, options: {}, missed: 'skip' } as const
    await store.schedules.save({ ...schedule, name: 'a', topic: 'a', source: 'code', service: 'billing' })
    await store.schedules.save({ ...schedule, name: 'b', topic: 'b', source: 'database' })
    const [, a, b] = (await text('schedules')).split('\n')
    expect(a).toMatch(/ code of billing$/)
    expect(b).toMatch(/ database$/)
  })

  test('doctor says which queue is late, but not of one that is paused', async () => {
    const past = await storeOf(10 * 60_000)
    for (const queue of ['slow', 'paused']) await past.enqueue([prepareJob('mail', {}, { queue })])
    await add('mail', { queue: 'quick' })
    await attend({ pid: 4711, queues: ['slow', 'paused', 'quick'] }, 0)
    await store.pause('paused')
    const found = await diagnose()
    expect(found('workers')).toMatchObject({ status: 'ok', found: '1 worker with 10 slots' })
    expect(found('lateness')).toMatchObject({
      status: 'warn',
      found: expect.stringMatching(/^slow by 10m/),
      advice: expect.stringContaining('cannot keep up'),
    })
  })

  test('doctor finds a healthy database well, and what nobody serves', async () => {
    await add('mail', { queue: 'lonely' })
    await store.pause('high', 'ada')
    expect(await json(['doctor'])).toMatchObject({ healthy: true })
    const of = await diagnose()
    for (const check of ['database', 'migrations', 'version', 'clock', 'claim plan']) {
      expect(of(check)).toMatchObject({ status: 'ok', advice: null })
    }
    expect(of('workers')).toMatchObject({ status: 'warn', found: 'none' })
    expect(of('queues')).toMatchObject({ status: 'warn', found: 'no worker serves lonely (1 waiting)' })
    expect(of('topics')).toMatchObject({ status: 'warn', found: 'no worker has ever announced mail' })
    expect(of('paused')).toMatchObject({
      status: 'warn',
      found: expect.stringContaining('high (by ada, 0 waiting)'),
    })
  })

  test('top takes one picture where there is no terminal', async () => {
    await failOne()
    await add('slow')
    await store.claim({ queues: ['default'], limit: 1, worker: WORKER, leaseMs: 30_000 })
    expect(await json(['top'])).toMatchObject({
      queues: [{ queue: 'default', running: 1, perMinute: 1 }],
      running: [{ topic: 'slow' }],
      failures: [{ count: 1, sample: { error: ERROR } }],
    })
    const stdout = await text('top')
    for (const title of ['Queues', 'Workers', 'Running longest', 'Failures in the last hour']) {
      expect(stdout).toContain(`\n${title}\n`)
    }
    expect(stdout).not.toContain('\u001b')
  })

  test('a database that is not migrated is refused with what to do, and doctor says it too', async () => {
    await store.close()
    await rollback(database.url)
    for (const command of ['list', 'stats', 'top']) {
      expect(await json([command], 1)).toMatchObject({
        error: { code: 'MIGRATION_NEEDED', hint: /npx oncue migrate/ },
      })
    }
    const { findings } = await json(['doctor'], 1)
    expect(findings).toContainEqual(expect.objectContaining({ check: 'migrations', status: 'fail' }))
  })

  describe('pair', () => {
    const SERVER = ['--server', 'https://oncue.example/']
    const exchange = (code: string) =>
      store.pairings.exchange({ code, name: 'my phone', hash: 'a'.repeat(64) })

    test('shows a code for a camera and for people, and says when a device came', async () => {
      const args = ['pair', '--role', 'viewer', ...SERVER, '--url', database.url]
      let shown = ''
      const paired = callAloud(args, (text) => {
        shown += text
      })
      const link = await vi.waitFor(() => {
        const [found] = /https:\S+/.exec(shown) ?? []
        expect(found).toBeDefined()
        return String(found)
      })
      const code = link.replace('https://oncue.example/pair?code=', '')
      expect(shown).toContain(renderUnicodeCompact(link))
      expect(shown).toContain(`type ${code} there. The code pairs one device as a viewer and expires in 5m`)
      expect(await exchange(code)).toMatchObject({ kind: 'device', role: 'viewer' })
      expect(await paired).toMatchObject({ code: 0, stdout: 'my phone is paired\n' })
    })

    test('leaves at once if told so, or when it answers in JSON', async () => {
      expect(await text('pair', '--no-wait', ...SERVER)).toContain('The code pairs one device as an operator')
      const { code, url, role } = await json(['pair', ...SERVER, '--valid', '15m'])
      expect({ url, role }).toEqual({ url: `https://oncue.example/pair?code=${code}`, role: 'operator' })
      expect(await exchange(code)).toMatchObject({ role: 'operator' })
    })

    test('gives up when the code is no longer valid', async () => {
      const outcome = await call('pair', ...SERVER, '--valid', '1ms', '--url', database.url)
      expect(outcome).toMatchObject({ code: 1, stdout: expect.stringContaining('No device was paired') })
    })

    test('needs to know where the phone finds the API', async () => {
      expect(await json(['pair'], 2)).toMatchObject({ error: { code: 'INVALID_INPUT', hint: /--server/ } })
      expect(await json(['pair', '--server', 'oncue'], 2)).toMatchObject({ error: { code: 'INVALID_INPUT' } })
    })

    test.each([
      'https://good.example@evil.example',
      'https://ada:secret@oncue.example',
      'https://@oncue.example',
    ])('refuses an address that hides where it leads: %s', async (server) => {
      const { error } = await json(['pair', '--no-wait', '--server', server], 2)
      expect(error).toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('contains a user name (…@…)'),
      })
      expect(JSON.stringify(error)).not.toContain('secret')
    })
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

  test.each([
    ['enqueue', ['{}', '1']],
    ['pair', ['ONCUE_URL', '"operator"', '5m']],
    ['list', ['20']],
  ])('the help of %s says each default once, as people would type it', async (command, defaults) => {
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

  test('a duration of 0 needs no unit', () => {
    expect(['0', '0s', '30s', '1.5m'].map(toDuration)).toEqual([0, 0, 30_000, 90_000])
  })

  test.each([
    [['nope']],
    [['--nope']],
    [['list', '--limit', '0']],
    [['list', '--status', 'lost']],
    [['list', '--since', 'yesterday']],
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
    [['pair', '--role', 'producer']],
    [['pair', '--valid', 'long']],
  ])('%j is wrong usage, 2', async (args) => {
    const { code, stderr } = await call(...args)
    expect(stderr).toMatch(/^error: /)
    expect(code).toBe(2)
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
    ])('%j is a mistake of the caller, 2, named %s', async (args, code) => {
      const outcome = await call(...args, '--json', '--url', database.url)
      expect(JSON.parse(outcome.stdout)).toMatchObject({ error: { code } })
      expect(outcome.code).toBe(2)
    })

    test.each(['list', 'requeue'])('%s --text without --since is refused by these names', async (command) => {
      const { code, stderr } = await call(command, '--text', 'a', '--url', database.url)
      expect([code, stderr]).toEqual([2, expect.stringContaining('--text needs --since')])
      expect(stderr).not.toContain('createdFrom')
    })

    test('a wrong setting is one too, named by its variable, whichever the command', async () => {
      const { code, stderr } = await run(['stats'], {
        env: { DATABASE_URL: database.url, ONCUE_LEASE: 'long' },
      })
      expect(stderr).toMatch(/^error INVALID_INPUT: ONCUE_LEASE=long must be a duration/)
      expect(code).toBe(2)
    })

    test('--url before or after the command wins over DATABASE_URL', async () => {
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

    test('what users wrote cannot move the cursor or hide text', async () => {
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

  test('a database that cannot be reached is a failure, 1, and its password is told nobody', async () => {
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

  test('an address that is none is a mistake of the caller', async () => {
    const { code, stdout } = await call('stats', '--url', 'mysql://app:secret@db', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'INVALID_DATABASE_URL' } })
    expect(stdout).not.toContain('secret')
    expect(code).toBe(2)
  })
})
