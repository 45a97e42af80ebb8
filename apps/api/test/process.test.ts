import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { prepareJob } from '@oncue/core'
import { openStore, showDatabase } from '@oncue/db'
import {
  connectPostgres,
  createEmptyPostgresDatabase,
  createEmptySqliteDatabase,
  holdWrites,
  type TestDatabase,
} from '@oncue/db/testing'
import { eventually } from '@oncue/testing'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { ApiProcess } from './api-process.ts'
import { ADMIN_TOKEN, createDatabase, DIALECTS, type Dialect } from './harness.ts'

const MINUTE_MS = 60_000
/** Test databases are also named oncue_…, but their names are shorter. */
const TOKEN = /oncue_[\w-]{43}/

async function given(dialect: Dialect): Promise<TestDatabase> {
  const database = await createDatabase(dialect)
  onTestFinished(() => database.drop())
  return database
}

describe('the process', () => {
  it('prints its usage', async () => {
    const api = new ApiProcess({}, ['--help'])
    expect(await api.exit).toBe(0)
    expect(api.stdout).toContain('DATABASE_URL')
  })

  it.each<[string, Record<string, string>, string[], string]>([
    ['an argument', {}, ['serve'], 'error INVALID_INPUT: Too many arguments'],
    ['an option', {}, ['--prot=1'], "error INVALID_INPUT: Unknown option '--prot=1'"],
    ['a port', { ONCUE_PORT: 'eighty' }, [], 'ONCUE_PORT=eighty must be a whole number'],
    ['a flag', { ONCUE_TRUST_PROXY: 'maybe' }, [], 'ONCUE_TRUST_PROXY=maybe must be one of'],
    ['an origin', { ONCUE_CORS_ORIGINS: '*' }, [], 'ONCUE_CORS_ORIGINS=* must be origins'],
    ['a database', { DATABASE_URL: 'mysql://u:hunter2@x' }, [], 'INVALID_DATABASE_URL: Not a database URL'],
  ])('refuses %s that it does not understand, with exit code 2', async (_, env, args, message) => {
    const api = new ApiProcess({ DATABASE_URL: ':memory:', ...env }, args)
    expect(await api.exit).toBe(2)
    expect(api.stderr).toContain(message)
    expect(api.stderr).not.toMatch(/hunter2|\n {4}at /)
  })

  it('assumes no database in production', async () => {
    const api = new ApiProcess({ NODE_ENV: 'production' })
    expect(await api.exit).toBe(2)
    expect(api.stderr).toMatch(
      /^error INVALID_DATABASE_URL: DATABASE_URL is not set, and NODE_ENV is production\n/,
    )
  })

  it('says that no server responds at the address of the database', async () => {
    const api = new ApiProcess({ DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/none' })
    expect(await api.exit).toBe(1)
    expect(api.stderr).toMatch(/^error DATABASE_UNAVAILABLE: .*127\.0\.0\.1:1\nCheck the URL \(host, port/)
    expect(api.stderr).not.toContain('hunter2')
  })

  it('says that the database is read-only', async () => {
    const database = await given('postgres')
    const session = await connectPostgres(database.url)
    const name = new URL(database.url).pathname.slice(1)
    await session.query(`alter database "${name}" set default_transaction_read_only = on`)
    await session.end()
    const api = new ApiProcess({ DATABASE_URL: database.url })
    expect(await api.exit).toBe(1)
    expect(api.stderr).toMatch(/^error DATABASE_READ_ONLY: .*\nConnect to the primary/)
  })
})

describe.each(DIALECTS)('the process on %s', (dialect) => {
  it('says which database it serves, without the password', async () => {
    const database = await given(dialect)
    const url = dialect === 'postgres' ? `${database.url}?password=hunter2` : database.url
    const api = new ApiProcess({ DATABASE_URL: url })
    await api.url()
    expect(api.stdout).toContain(`"database":${JSON.stringify(showDatabase(url))}`)
    expect(api.stdout).not.toContain('hunter2')
  })

  it('refuses to start before the migrations', async () => {
    const database = await (dialect === 'postgres'
      ? createEmptyPostgresDatabase(inject('postgresUrl'))
      : createEmptySqliteDatabase())
    onTestFinished(() => database.drop())
    const api = new ApiProcess({ DATABASE_URL: database.url })
    expect(await api.exit).toBe(1)
    expect(api.stderr).toMatch(/^error MIGRATION_NEEDED: .*\n.*`npx oncue migrate`/)
  })

  it('says that its port is taken', async () => {
    const database = await given(dialect)
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    const api = new ApiProcess({ DATABASE_URL: database.url, ONCUE_PORT: String(port) })
    expect(await api.exit).toBe(1)
    expect(api.stderr).toMatch(
      new RegExp(
        `Cannot listen on 127.0.0.1:${port}: port ${port} is already in use\n.*--port or ONCUE_PORT`,
      ),
    )
  })

  it('shows the first admin token once, and never in its log', async () => {
    const database = await given(dialect)
    const first = new ApiProcess({ DATABASE_URL: database.url })
    const url = await first.url()
    await eventually(() => expect(first.stdout).toMatch(TOKEN))
    const [token = ''] = TOKEN.exec(first.stdout) ?? []
    const answer = await fetch(`${url}/trpc/tokens.list`, { headers: { authorization: `Bearer ${token}` } })
    expect(answer.status).toBe(200)
    expect(await first.stop()).toBe(0)
    const lines = first.stdout.split('\n').filter((line) => line.startsWith('{'))
    expect(lines.length).toBeGreaterThan(1)
    expect(lines.join()).not.toContain(token)

    const second = new ApiProcess({ DATABASE_URL: database.url })
    await second.url()
    expect(await second.stop()).toBe(0)
    expect(second.stdout).not.toMatch(TOKEN)
    expect(second.stderr).toBe('')
  })

  it('stopped while starting, exits with 0 and creates no admin token', async () => {
    const database = await given(dialect)
    const release = await holdWrites(database.url)
    const api = new ApiProcess({ DATABASE_URL: database.url })
    await eventually(() => expect(api.stdout, api.stderr).toContain('"starting"'))
    api.child.kill('SIGTERM')
    await eventually(() => expect(api.stdout, api.stderr).toContain('"stopping"'))
    await release()
    expect([await api.exit, api.stderr]).toEqual([0, ''])
    expect(api.stdout).toContain('stopped before the API had started')
    expect(api.stdout).not.toMatch(TOKEN)

    const next = new ApiProcess({ DATABASE_URL: database.url })
    await next.url()
    await eventually(() => expect(next.stdout).toMatch(TOKEN))
    // As where npm or its shell passes Ctrl-C on, too: that is one.
    next.child.kill('SIGINT')
    next.child.kill('SIGINT')
    expect(await next.exit).toBe(0)
  })

  it(
    'stops before a supervisor would kill it, despite streams, long polls and a request that never ends',
    async () => {
      const database = await given(dialect)
      const store = await openStore(database.url)
      const [id = ''] = await store.enqueue([prepareJob('mail', null)])
      await store.close()
      const api = new ApiProcess({ DATABASE_URL: database.url, ONCUE_ADMIN_TOKEN: ADMIN_TOKEN })
      const url = await api.url()
      const call = (procedure: string) =>
        fetch(`${url}/trpc/${procedure}?input=${encodeURIComponent(JSON.stringify({ json: { id } }))}`, {
          headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
        })
      const stream = await call('jobs.watch')
      const waiting = call('jobs.wait')
      const slow = connect(Number(new URL(url).port), '127.0.0.1')
      const closed = new Promise((resolve) => slow.once('close', resolve).once('error', resolve))
      slow.write(`POST /api/jobs/enqueue HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`)
      slow.write(`authorization: Bearer ${ADMIN_TOKEN}\r\ncontent-length: 100\r\n\r\n{"topic":`)
      await eventually(async () => {
        const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
        expect(await metrics.text()).toContain('oncue_watchers{of="job"} 2')
      })

      const start = performance.now()
      expect(await api.stop()).toBe(0)
      expect(performance.now() - start).toBeLessThan(10_000)
      expect(await (await waiting).json()).toMatchObject({ result: { data: { json: { finished: false } } } })
      expect(await stream.text()).not.toContain('event: return')
      await closed
    },
    MINUTE_MS,
  )
})
