import { join } from 'node:path'
import { type EnqueueOptions, prepareJob } from '@oncue/core'
import { openStore, rollback, type Store, showDatabase } from '@oncue/db'
import { createDatabase, DIALECTS, holdWrites, type TestDatabase } from '@oncue/db/testing'
import { createFolder, eventually, type Folder, type Program } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { VERSION } from '../src/version.ts'
import { run, start } from './harness.ts'

/** `hold` waits for a file, or for its signal; `forever` for its signal alone. */
const JOBS = `
import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

// Modules keep resources open, which must not keep the process alive.
setInterval(() => {}, 1_000)

export const workers = {
  async hello(job) { return job.payload },
  async fails() { throw new Error('no luck') },
  async hold(job, ctx) {
    ctx.log.info('in hand')
    while (!existsSync(job.payload.file)) await wait(10, undefined, { signal: ctx.signal })
  },
  async forever(job, ctx) {
    ctx.log.info('in hand')
    await wait(600_000, undefined, { signal: ctx.signal })
  },
  async forgets() { Promise.reject(new Error('forgotten')) },
  async taunts() {
    Promise.reject(Object.create(null))
    Promise.reject(new Proxy({}, { getPrototypeOf() { throw new Error('do not look') } }))
  },
  async explodes(job, ctx) {
    setTimeout(() => { throw new Error('nobody catches me') })
    await wait(600_000, undefined, { signal: ctx.signal })
  },
}
`

const started: Program[] = []

/** Kills a worker that the test has not seen end. */
async function killAll(): Promise<void> {
  for (const program of started.splice(0)) await program.stop('SIGKILL')
}

function startOne(args: string[], env: Record<string, string>): Program {
  const process = start(args, env)
  started.push(process)
  return process
}

describe.each(DIALECTS)('a worker process on %s', (dialect) => {
  let database: TestDatabase
  let folder: Folder
  let store: Store
  let module: string

  beforeEach(async () => {
    ;[database, folder] = await Promise.all([createDatabase(dialect), createFolder()])
    module = await folder.write('jobs.mjs', JOBS)
    store = await openStore(database.url)
  })
  afterEach(async () => {
    await killAll()
    await store.close()
    await folder.remove()
    await database.drop()
  })

  const worker = (args: string[] = [], env: Record<string, string> = {}) =>
    startOne(['worker', '--import', module, ...args], { DATABASE_URL: database.url, ...env })

  const once = (...args: string[]) =>
    run(['worker', '--import', module, '--once', ...args], { env: { DATABASE_URL: database.url } })

  const add = async (topic: string, payload: unknown = {}, options: EnqueueOptions = {}) => {
    const [id = ''] = await store.enqueue([prepareJob(topic, payload, options)])
    return id
  }

  const statusOf = async (id: string) => (await store.get(id))?.status

  test('logs what it serves, runs jobs, and exits with 0 when asked', async () => {
    const process = worker(['--concurrency', '2', '--queues', 'high,default'], { ONCUE_CONCURRENCY: '3' })
    const ready = await process.said('worker started')
    expect(ready).toMatchObject({ queues: ['high', 'default'], concurrency: 2, worker: expect.any(String) })
    expect(ready.topics).toContain('hello')
    const id = await add('hello', { a: 1 }, { queue: 'high' })
    await eventually(async () => expect(await statusOf(id)).toBe('completed'))
    expect(await process.stop('SIGTERM')).toBe(0)
    expect(await store.workers()).toEqual([])
  })

  test('registers the version of its code, from the flag before the variable', async () => {
    const versions = async () => (await store.workers()).map(({ version }) => version)
    const named = worker(['--release', '2.4.0'], { ONCUE_VERSION: '2.3.0' })
    expect(await named.said('worker started')).toMatchObject({ version: '2.4.0', oncue: VERSION })
    expect(await versions()).toEqual(['2.4.0'])
    expect(await named.stop('SIGTERM')).toBe(0)

    const byVariable = worker([], { ONCUE_VERSION: '2.3.0' })
    await byVariable.said('worker started')
    expect(await versions()).toEqual(['2.3.0'])

    const wrong = await once('--release', 'x'.repeat(65))
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('It must be 1 to 64 printable characters.')
  })

  describe('asked to stop while it starts, ends with 0', () => {
    const says = (word: string) => `process.stdout.write('{"msg":"${word}"}\\n')`
    const FIRST = `
      export const setup = () => ${says('first is set up')}
      export const close = () => ${says('first is closed')}
    `
    const never = 'await new Promise(() => setInterval(() => {}, 1_000))'
    const words = ({ lines }: Program) => lines.map(({ msg }) => msg)

    async function startWith(text: string) {
      const [first, second] = [await folder.write('first.mjs', FIRST), await folder.write('second.mjs', text)]
      const args = ['worker', '--import', first, '--import', second]
      return startOne(args, { DATABASE_URL: database.url })
    }

    async function stopped(process: Program, expected: readonly string[]) {
      process.child.kill('SIGTERM')
      expect(await process.exit).toBe(0)
      const all = words(process)
      expect(all.filter((word) => /^first|^stopping|^stopped|^worker/.test(word))).toEqual(expected)
      expect(await store.workers()).toEqual([])
    }
    const STOPPING = expect.stringContaining('stopping')
    const STOPPED = 'stopped before the worker had started'

    test('while a module is loaded', async () => {
      const process = await startWith(`${says('loading')}; ${never}`)
      await process.said('loading')
      await stopped(process, [STOPPING, STOPPED])
    })

    test('while a module is set up: those before it are closed', async () => {
      const hook = `export async function setup() { ${says('setting up')}; ${never} }`
      const process = await startWith(`${JOBS}\n${hook}`)
      await process.said('setting up')
      await stopped(process, ['first is set up', STOPPING, 'first is closed', STOPPED])
    })

    test('while the worker announces itself: modules are closed afterwards', async () => {
      const release = await holdWrites(database.url)
      const process = await startWith(JOBS)
      await process.said('first is set up')
      const ended = stopped(process, [
        'first is set up',
        STOPPING,
        'worker stopped',
        'first is closed',
        STOPPED,
      ])
      await process.said('stopping')
      await release()
      await ended
    })
  })

  test('works in the schema that it is given, and commands use it too', async () => {
    const there = await openStore(database.url, { schema: 'billing', migrate: true })
    const [theirs = ''] = await there.enqueue([prepareJob('hello', {})])
    const ours = await add('hello')
    const process = worker([], { ONCUE_SCHEMA: 'billing' })
    await eventually(async () => expect((await there.get(theirs))?.status).toBe('completed'))
    expect(await there.workers()).toHaveLength(1)
    expect(await store.workers()).toEqual([])
    const args = ['--url', database.url, '--schema', 'billing', '--json']
    const enqueued = await run(['enqueue', 'hello', '{}', ...args])
    const { id } = JSON.parse(enqueued.stdout) as { id: string }
    await eventually(async () => expect((await there.get(id))?.status).toBe('completed'))
    expect(enqueued.stderr).toContain('schema billing')
    const { findings } = JSON.parse((await run(['doctor', ...args])).stdout)
    expect(findings).toContainEqual(expect.objectContaining({ check: 'claim plan', status: 'ok' }))
    expect(await process.stop('SIGTERM')).toBe(0)
    expect(await statusOf(ours)).toBe('pending')
    await there.close()
  })

  test('says that no jobs run when it is asked to stop, and what it has done', async () => {
    const id = await add('hold', { file: await folder.write('gone', '') })
    const process = worker()
    await eventually(async () => expect(await statusOf(id)).toBe('completed'))
    process.child.kill('SIGTERM')
    await process.said('stopping: no running jobs')
    expect(await process.said('worker stopped')).toMatchObject({ completed: 1, failed: 0 })
    expect(await process.exit).toBe(0)
  })

  test('waits for running jobs when it is asked to stop, and logs which', async () => {
    const file = join(folder.path, 'go')
    const id = await add('hold', { file })
    const process = worker()
    await process.said('in hand')
    process.child.kill('SIGINT')
    // As where npm or its shell passes Ctrl-C on, too: that is one.
    process.child.kill('SIGINT')
    expect(await process.said('stopping: waiting up to 30s for 1 job')).toMatchObject({
      signal: 'SIGINT',
      jobs: [{ id, topic: 'hold', run: 1 }],
    })
    await folder.write('go', '')
    expect(await process.exit).toBe(0)
    expect(await statusOf(id)).toBe('completed')
  })

  test.each([
    ['SIGTERM', 'SIGTERM', 143],
    ['SIGTERM', 'SIGINT', 130],
    ['SIGINT', 'SIGTERM', 143],
  ] as const)(
    'after %s, %s stops at once with %i, and releases running jobs',
    async (first, second, code) => {
      const id = await add('forever')
      const process = worker()
      await process.said('in hand')
      process.child.kill(first)
      await process.said('stopping: waiting')
      process.child.kill(second)
      expect(await process.exit).toBe(code)
      expect(await store.get(id)).toMatchObject({ status: 'pending', retries: 0, crashes: 0, lockedBy: null })
    },
  )

  test('five SIGTERMs make one exit: running jobs are released uncharged, once', async () => {
    const ids = [await add('forever'), await add('forever')]
    const process = worker()
    await process.said('in hand')
    process.child.kill('SIGTERM')
    await process.said('stopping: waiting')
    for (let n = 2; n <= 5; n++) expect(await process.stop('SIGTERM')).toBe(143)
    expect(process.lines.filter(({ msg }) => msg === 'worker stopped')).toHaveLength(1)
    expect(process.lines.filter(({ level }) => level === 'error')).toEqual([])
    const given = { status: 'pending', retries: 0, crashes: 0, lockedBy: null }
    expect(await Promise.all(ids.map((id) => store.get(id)))).toMatchObject([given, given])
    expect(await store.workers()).toEqual([])
  })

  test('after the grace time it aborts and releases running jobs, and exits with 0', async () => {
    const id = await add('forever')
    const process = worker(['--grace', '50ms'])
    await process.said('in hand')
    expect(await process.stop('SIGTERM')).toBe(0)
    expect(await store.get(id)).toMatchObject({ status: 'pending', retries: 0 })
  })

  test('--once runs due jobs and exits: with 0, or 3 when a run failed', async () => {
    const [now, later] = [await add('hello'), await add('hello', {}, { delay: 3_600_000 })]
    expect(await once()).toMatchObject({ code: 0 })
    expect(await statusOf(now)).toBe('completed')
    expect(await statusOf(later)).toBe('pending')
    const failing = await add('fails')
    expect(await once('--json')).toMatchObject({ code: 3, stdout: expect.stringContaining('no luck') })
    expect(await store.get(failing)).toMatchObject({ status: 'pending', retries: 1 })
  })

  test('--once waits for the rate limit of due jobs', async () => {
    await store.limit({ queue: 'default' }, { rate: { count: 1, intervalMs: 100 } })
    const ids = [await add('hello'), await add('hello'), await add('hello')]
    expect(await once()).toMatchObject({ code: 0 })
    for (const id of ids) expect(await statusOf(id)).toBe('completed')
  })

  test('an unhandled rejection of a handler is logged, and stops nothing', async () => {
    const id = await add('forgets')
    const process = worker()
    expect(await process.said('unhandled promise rejection')).toMatchObject({ err: { message: 'forgotten' } })
    await eventually(async () => expect(await statusOf(id)).toBe('completed'))
    await add('taunts')
    const rejections = () => process.lines.filter(({ msg }) => msg.includes('unhandled promise rejection'))
    await eventually(() => expect(rejections()).toHaveLength(3))
    expect(await process.stop('SIGTERM')).toBe(0)
  })

  test('an uncaught error is logged with the jobs in hand, and stops the worker with 1', async () => {
    const id = await add('explodes')
    const process = worker(['--grace', '50ms'])
    expect(await process.said('uncaught exception')).toMatchObject({
      err: { message: 'nobody catches me' },
      jobs: [{ id, topic: 'explodes', run: 1 }],
    })
    expect(await process.exit).toBe(1)
    expect(await statusOf(id)).toBe('pending')
  })

  test('ONCUE_RETRY_* decides when a job without a policy of its own is retried', async () => {
    const id = await add('fails')
    const env = { DATABASE_URL: database.url, ONCUE_RETRY_STRATEGY: 'fixed', ONCUE_RETRY_BASE_DELAY: '1h' }
    await run(['worker', '--import', module, '--once'], { env })
    const job = await store.get(id)
    const delay = Number(job?.runAt) - Number(job?.updated)
    expect(delay).toBe(3_600_000)
  })

  test('a database that is not migrated is refused with exit code 1, and named', async () => {
    await store.close()
    await rollback(database.url)
    const { code, stdout, stderr } = await once()
    expect(JSON.parse(stdout)).toMatchObject({ msg: 'starting', database: showDatabase(database.url) })
    expect(stderr).toMatch(/^error MIGRATION_NEEDED: .*\nRun `npx oncue migrate`/)
    expect(code).toBe(1)
  })
})

describe('a worker process', () => {
  let folder: Folder
  beforeEach(async () => {
    folder = await createFolder()
  })
  afterEach(async () => {
    await killAll()
    await folder.remove()
  })

  test('serves metrics on the port it is given, and logs the address', async () => {
    const module = await folder.write('jobs.mjs', 'export const workers = { async hello() {} }')
    const process = startOne(['worker', '--import', module, '--metrics-port', '0'], {
      DATABASE_URL: ':memory:',
    })
    const { url } = await process.said('serving metrics')
    await process.said('worker started')
    const answer = await fetch(String(url))
    expect(await answer.text()).toContain('oncue_worker_slots 10')
    expect(await process.stop('SIGTERM')).toBe(0)
  })

  test('exits when a module cannot be used, even if another keeps something open', async () => {
    const open = await folder.write(
      'open.mjs',
      'setInterval(() => {}, 1_000)\nexport const workers = { async a() {} }',
    )
    const env = { DATABASE_URL: ':memory:' }
    const outcome = await run(['worker', '--import', open, '--import', './missing.mjs'], {
      cwd: folder.path,
      env,
    })
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no file') })
  })

  test('prints readable lines only on a terminal: into a pipe everything is JSON', async () => {
    const module = await folder.write('jobs.mjs', 'export const workers = { async hello() {} }')
    const { code, stdout } = await run(['worker', '--import', module, '--once'], {
      env: { DATABASE_URL: ':memory:' },
    })
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines[0]).toMatchObject({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      msg: 'starting',
    })
    expect(code).toBe(0)
  })
})
