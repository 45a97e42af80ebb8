import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createEmptyPostgresDatabase } from '@oncue/db/testing'
import { eventually } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { Launched } from '../launched.ts'
import { bareEnvironment } from '../start/config.ts'
import { ROOT } from '../start/root.ts'

const SCRIPT = join(ROOT, 'scripts/start.js')
const TOKEN = /oncue_[\w-]{43}/

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oncue-start-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Runs the script `start`, on any port, without building the app. */
function start(args: readonly string[] = [], env: Record<string, string> = {}, node: readonly string[] = []) {
  const options = { cwd: folder, env: { ...bareEnvironment(), ONCUE_PORT: '0', ...env } }
  const launched = new Launched(process.execPath, [...node, SCRIPT, '--no-app', ...args], options)
  onTestFinished(async () => {
    launched.signal('SIGKILL')
    await launched.ends()
  })
  return launched
}

/** What a user sees in the terminal. */
async function facts(launched: Launched) {
  await launched.says(/oncue_|ONCUE_ADMIN_TOKEN|--new-token/)
  const { output } = launched
  const url = /http:\/\/\S+(?=\/docs)/.exec(output)?.[0] ?? ''
  return { url, token: TOKEN.exec(output)?.[0] }
}

/** The printed program, where a reader of these documents would run it. */
async function run(program: string, token = ''): Promise<string> {
  const home = join(ROOT, 'examples/.snippets')
  await mkdir(home, { recursive: true })
  const file = join(await mkdtemp(join(home, 'start-')), 'program.ts')
  await writeFile(file, program)
  const running = new Launched(process.execPath, [file], { cwd: folder, env: { ONCUE_TOKEN: token } })
  onTestFinished(() => rm(dirname(file), { recursive: true }))
  return (await running.ends()).output
}

/** The request of the printed curl command. */
async function enqueueAsPrinted(output: string): Promise<boolean> {
  const [, token = ''] = /export ONCUE_TOKEN=(\S+)/.exec(output) ?? []
  const [, url = '', header = '', body = ''] =
    /curl (\S+) [\s\S]+?"authorization: ([^"]+)"[\s\S]+?-d '(.+)'/.exec(output) ?? []
  const headers = {
    authorization: header.replace('$ONCUE_TOKEN', token),
    'content-type': 'application/json',
  }
  return (await fetch(url, { method: 'POST', headers, body })).ok
}

async function status(url: string, token: string | undefined): Promise<number> {
  return (await fetch(`${url}/api/jobs`, { headers: { authorization: `Bearer ${token}` } })).status
}

const DATABASES = [
  { dialect: 'sqlite', url: async () => ({ DATABASE_URL: '' }) },
  {
    dialect: 'postgres',
    url: async () => {
      const database = await createEmptyPostgresDatabase(inject('postgresUrl'))
      onTestFinished(() => database.drop())
      return { DATABASE_URL: database.url }
    },
  },
]

describe.each(DATABASES)('start, on $dialect', ({ url: create }) => {
  test('migrates, shows a token once, and what it prints works; Ctrl-C ends all of it', async () => {
    const env = await create()
    const first = start([], env)
    const { token } = await facts(first)
    const program = /^ {2}import [\s\S]+?wait\(id\)\)/m.exec(first.output)?.[0] ?? ''
    expect(await run(program, token)).toBe('{ sent: 3 }\n')
    expect(await enqueueAsPrinted(first.output)).toBe(true)
    first.signal('SIGINT')
    expect(await first.ends()).toEqual({ code: 0, output: expect.stringContaining('Stopped.') })
    expect(first.left()).toEqual([])

    const second = start([], env)
    const again = await facts(second)
    expect(second.output).not.toMatch(TOKEN)
    expect(second.output).toContain('--new-token')
    expect(await status(again.url, token)).toBe(200)
    second.signal('SIGTERM')
    expect((await second.ends()).code).toBe(0)
  })
})

test('a token from the environment is not shown, and a lost one can be replaced', async () => {
  const given = `oncue_${'x'.repeat(43)}`
  const first = start([], { ONCUE_ADMIN_TOKEN: given })
  expect((await facts(first)).token).toBeUndefined()
  first.signal('SIGINT')
  await first.ends()

  const second = start(['--new-token'])
  const { url, token } = await facts(second)
  expect(await status(url, token)).toBe(200)
  expect(await status(url, given)).toBe(401)
})

test('works under node --watch, as in `dev`: the log is in the terminal, and jobs run', async () => {
  const launched = start(['--logs'], { DATABASE_URL: ':memory:' }, ['--watch'])
  const { url, token } = await facts(launched)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const job = JSON.stringify({ topic: 'mail_digest', payload: { userId: '123' } })
  await fetch(`${url}/api/jobs/enqueue`, { method: 'POST', headers, body: job })
  await eventually(async () => {
    const stats = await fetch(`${url}/api/jobs/stats`, { headers })
    expect(await stats.json()).toMatchObject({ completed: 1 })
  })
  launched.signal('SIGINT')
  expect((await launched.ends()).output).toMatch(/worker started[\s\S]+Stopped\./)
  await eventually(() => expect(launched.left()).toEqual([]))
})

describe('start ends', () => {
  test('with the npx that started it, also when that is killed and forwards no signal', async ({ skip }) => {
    if (!existsSync('/proc/self/stat')) skip('processes can be looked up under /proc only')
    // Named like npx, which is how the launcher is recognised.
    const npx = `require('node:child_process').spawn(process.execPath, process.argv.slice(2), { stdio: 'inherit' })`
    const launched = start([], {}, ['-e', npx, 'npx'])
    await facts(launched)
    launched.process.kill('SIGKILL')
    await eventually(() => expect(launched.left()).toEqual([]))
    expect((await launched.ends()).output).toContain('Stopped.')
  })

  test('as a whole when a part of it throws an uncaught error', async () => {
    const bomb = `process.once('SIGUSR2', () => { throw new Error('out of luck') })`
    const node = ['--import', `data:text/javascript,${encodeURIComponent(bomb)}`]
    const launched = start([], { DATABASE_URL: ':memory:' }, node)
    await facts(launched)
    launched.process.kill('SIGUSR2')
    expect(await launched.ends()).toEqual({ code: 1, output: expect.stringContaining('Error: out of luck') })
    expect(launched.left()).toEqual([])
  })

  test('at the first Ctrl-C while it prepares, even when the database does not reply', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void silent.close())
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const launched = start([], { DATABASE_URL: `postgres://127.0.0.1:${port}/shop` })
    await once(silent, 'connection')
    launched.signal('SIGINT')
    expect(await launched.ends()).toEqual({ code: 130, output: expect.stringContaining('Interrupted.') })
    expect(launched.left()).toEqual([])
  })

  test('at once at a second Ctrl-C', async () => {
    const launched = start(['--demo'], { DATABASE_URL: ':memory:' })
    await facts(launched)
    launched.signal('SIGINT')
    await launched.says(/Stopping/)
    launched.signal('SIGINT')
    await launched.ends()
    expect(launched.left()).toEqual([])
  })
})

describe('start reports what is wrong, without a stack', () => {
  async function complaint(launched: Launched): Promise<string> {
    const { code, output } = await launched.ends()
    expect(code).toBeGreaterThan(0)
    expect(output).not.toMatch(/^ +at /m)
    expect(launched.left()).toEqual([])
    return output
  }

  test.each(['abc', '70000', '-1'])('--port %s', async (port) => {
    expect(await complaint(start([`--port=${port}`]))).toContain(
      `--port: must be a number from 0 to 65535, got "${port}"`,
    )
  })

  test('a port that is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await complaint(start(['--port', String(port)]))).toMatch(
      new RegExp(`Cannot listen on 127.0.0.1:${port}: the address is already in use\n.*--port`),
    )
  })

  test.each([
    [
      'no URL of a database',
      'mysql://localhost/shop',
      /Not a database URL: "mysql:\/\/localhost\/shop"\n.*postgres:/,
    ],
    [
      'a Postgres that is not there',
      'postgres://somebody:secret@127.0.0.1:1/shop',
      /ECONNREFUSED.*\n.*somebody:…@127\.0\.0\.1:1\/shop/,
    ],
    [
      'a folder that cannot be made',
      `file:${SCRIPT}/oncue.db`,
      /Cannot write in .*start\.js: \w+\n.*DATABASE_URL/,
    ],
  ])('%s', async (_, DATABASE_URL, message) => {
    const said = await complaint(start([], { DATABASE_URL }))
    expect(said).toMatch(message)
    expect(said).not.toContain('secret')
  })

  test('a folder that is read-only', async ({ skip }) => {
    if (process.getuid?.() === 0) skip('root may write everywhere')
    await chmod(folder, 0o500)
    expect(await complaint(start())).toMatch(/Cannot write in .*\.data: EACCES/)
  })

  test('an invalid setting', async () => {
    expect(await complaint(start([], { ONCUE_CONCURRENCY: 'many' }))).toContain('ONCUE_CONCURRENCY=many')
  })

  test('an unknown option, with the list of options', async () => {
    expect(await complaint(start(['--dmeo']))).toMatch(/--dmeo[\s\S]*--help/)
    const help = start(['--', '--help'])
    expect(await help.ends()).toEqual({ code: 0, output: expect.stringContaining('--demo') })
  })

  test('a Node that is too old', async () => {
    const old = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })`
    const node = ['--import', `data:text/javascript,${encodeURIComponent(old)}`]
    expect(await complaint(start([], {}, node))).toMatch(/needs Node 22\.18 or newer/)
  })
})
