import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, symlink } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { showDatabase } from '@oncue/db'
import { createEmptyPostgresDatabase } from '@oncue/db/testing'
import { createClient } from '@oncue/sdk'
import { createFolder, eventually, type Folder, Gate } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { run, start } from './harness.ts'

let folder: Folder
beforeEach(async () => {
  folder = await createFolder()
  await folder.write('jobs.mjs', 'export const workers = { async hello(job) { return job.payload } }')
})
afterEach(() => folder.remove())

async function dev(env: Record<string, string>, ...args: string[]) {
  const process = start(['dev', '--port', '0', ...args], env, folder.path)
  onTestFinished(async () => {
    await process.stop('SIGKILL')
  })
  const { url, adminToken, database, signIn } = await process.said('Oncue is running')
  await process.said('worker started')
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
  return {
    ...{ url: String(url), token: adminToken as string | null, database, link: String(signIn), process },
    async enqueue(topic: string): Promise<string> {
      const body = JSON.stringify({ topic, payload: { a: 1 } })
      const response = await fetch(`${url}/api/jobs/enqueue`, { method: 'POST', headers, body })
      expect(response.status).toBe(201)
      return ((await response.json()) as { id: string }).id
    },
    async job(id: string) {
      const response = await fetch(`${url}/api/jobs/${id}`, { headers })
      return (await response.json()) as { status: string; run: number; result: unknown }
    },
    /** How often the log has said this. */
    count: (text: string) => process.lines.filter(({ msg }) => msg === text).length,
    stop: () => process.stop('SIGINT'),
  }
}

const DATABASES: [name: string, env: () => Promise<Record<string, string>>][] = [
  ['SQLite in .oncue', async () => ({})],
  [
    'Postgres in DATABASE_URL',
    async () => {
      const database = await createEmptyPostgresDatabase(inject('postgresUrl'))
      onTestFinished(() => database.drop())
      return { DATABASE_URL: database.url }
    },
  ],
]

describe.each(DATABASES)('oncue dev, on %s', (_, createEnv) => {
  test('migrates, shows a token only at its first start, runs jobs, and stops when asked', async () => {
    const env = await createEnv()
    const first = await dev(env)
    const url = env.DATABASE_URL ?? `file:${join(folder.path, '.oncue/oncue.db')}`
    expect(first.database).toContain(showDatabase(url))
    const headers = { authorization: `Bearer ${first.token}` }
    const id = await first.enqueue('hello')
    await eventually(async () => expect(await first.job(id)).toMatchObject({ status: 'completed' }))
    expect(await first.stop()).toBe(0)

    const second = await dev(env, '--import', './jobs.mjs')
    expect(second.token).toBeNull()
    const again = await fetch(`${second.url}/api/jobs`, { headers })
    expect(again.status).toBe(200)
    expect(await second.stop()).toBe(0)
  })
})

test('its folder is kept out of repositories, and other commands reach its database', async () => {
  const { stop } = await dev({})
  expect(await readFile(join(folder.path, '.oncue/.gitignore'), 'utf8')).toBe('*\n')
  const stats = await run(['stats', '--url', 'file:./.oncue/oncue.db', '--json'], { cwd: folder.path })
  expect(JSON.parse(stats.stdout)).toMatchObject({ completed: 0 })
  expect(await stop()).toBe(0)
})

test('a module that cannot be used is wrong usage, and nothing is created', async () => {
  const { code, stderr } = await run(['dev', '--import', './missing.mjs'], { cwd: folder.path })
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^error INVALID_MODULE: there is no file/)])
  expect(existsSync(join(folder.path, '.oncue'))).toBe(false)
})

test.each(['workers.ts', 'src/jobs.mts', 'jobs/index.js', 'src/oncue/workers.mjs'])(
  'finds %s by itself',
  async (name) => {
    await rm(join(folder.path, 'jobs.mjs'))
    await mkdir(dirname(join(folder.path, name)), { recursive: true })
    // Not Oncue's.
    await folder.write('jobs.ts', 'export const openings = []')
    await folder.write('package.json', '{"type":"module"}')
    await folder.write(name, 'export const workers = { async found() { return true } }')
    const { enqueue, job, stop } = await dev({})
    const id = await enqueue('found')
    await eventually(async () => expect(await job(id)).toMatchObject({ status: 'completed', result: true }))
    expect(await stop()).toBe(0)
  },
)

test.each([
  ['jobs.ts', {}],
  ['jobs.ts', { type: 'module' }],
  ['jobs.mts', { type: 'commonjs' }],
])(
  'without a module it shows a complete %s, which works when it is pasted, in a project %o',
  async (file, manifest) => {
    await rm(join(folder.path, 'jobs.mjs'))
    await folder.write('package.json', JSON.stringify(manifest))
    const { code, stdout, stderr } = await run(['dev'], { cwd: folder.path })
    expect([code, stdout]).toEqual([1, ''])
    const [, missing, wanted] =
      /^error NO_MODULE: There is no (\S+) in \S+, nor in src\/\nWrite (\S+), /.exec(stderr) ?? []
    expect([missing, wanted]).toEqual([file, file])
    expect(existsSync(join(folder.path, '.oncue'))).toBe(false)

    await mkdir(join(folder.path, 'node_modules'))
    for (const [name, home] of [
      ['oncue', new URL('..', import.meta.url)],
      ['zod', new URL('../node_modules/zod', import.meta.url)],
    ] as const)
      await symlink(fileURLToPath(home), join(folder.path, 'node_modules', name))
    await folder.write(file, stderr.slice(stderr.indexOf('\nimport ')))
    const { url, token, process, stop } = await dev({})
    expect(process.lines.find(({ msg }) => msg === 'worker started')).toMatchObject({ topics: ['greet'] })
    const client = createClient({ url, token: token ?? '' })
    const id = await client.jobs.enqueue('greet', { name: 'Ada' })
    expect(await client.jobs.wait(id)).toBe('Hello, Ada')
    expect(await stop()).toBe(0)
  },
)

/** Once the API of `oncue dev` has stopped. */
async function shownJob(id: string, env: Record<string, string>): Promise<unknown> {
  const url = env.DATABASE_URL ?? `file:${join(folder.path, '.oncue/oncue.db')}`
  const { stdout } = await run(['show', id, '--url', url, '--json'])
  return JSON.parse(stdout)
}

describe.each(DATABASES)('handlers are restarted, on %s', (_, createEnv) => {
  const jobs = (result: string) => `
    import { told } from './told.mjs'
    export const workers = {
      async slow(_, { signal }) { await fetch(process.env.GATE, { signal }); return '${result}' },
      async fast() { return '${result} ' + told },
    }`
  const STARTED = 'worker started'
  const ENDED = 'the handlers have ended; they start again when a file of theirs changes'

  beforeEach(async () => {
    await folder.write('told.mjs', `export const told = 'one'`)
    await folder.write('jobs.mjs', jobs('old'))
  })

  test('when a file changes: jobs that run end as they were, others run the new code', async () => {
    const gate = await openGate()
    const { enqueue, job, count, stop, process } = await dev({ ...(await createEnv()), GATE: gate.url })
    const slow = await enqueue('slow')
    await gate.reached
    await folder.write('jobs.mjs', jobs('new'))
    await eventually(() => expect(count(STARTED)).toBe(2))
    const fast = await enqueue('fast')
    await eventually(async () => expect(await job(fast)).toMatchObject({ result: 'new one' }))
    expect(await job(slow)).toMatchObject({ status: 'processing', run: 1 })
    gate.open()
    await eventually(async () =>
      expect(await job(slow)).toMatchObject({ status: 'completed', run: 1, result: 'old' }),
    )

    await folder.write('told.mjs', `export const told = 'two'`)
    await eventually(() => expect(count(STARTED)).toBe(3))
    expect(process.lines.findLast(({ msg }) => msg.startsWith('restarting'))).toMatchObject({
      files: ['told.mjs'],
    })
    const again = await enqueue('fast')
    await eventually(async () => expect(await job(again)).toMatchObject({ result: 'new two' }))
    expect(await stop()).toBe(0)
    expect(process.stderr).toBe('')
  })

  test('once a file that cannot be read is correct again: the jobs wait for it', async () => {
    const { enqueue, job, count, stop, process } = await dev(await createEnv())
    await folder.write('told.mjs', 'export const told = ')
    await eventually(() => expect(count(ENDED)).toBe(1))
    expect(process.lines.find(({ error }) => error)).toMatchObject({ error: { code: 'INVALID_MODULE' } })
    const id = await enqueue('fast')
    expect(await job(id)).toMatchObject({ status: 'pending' })
    await folder.write('told.mjs', `export const told = 'three'`)
    await eventually(async () => expect(await job(id)).toMatchObject({ run: 1, result: 'old three' }))
    expect(await stop()).toBe(0)
  })

  test('again, if they could not start beside old ones that still ran', async () => {
    const gate = await openGate()
    const port = await freePort()
    const env = { ...(await createEnv()), GATE: gate.url, ONCUE_METRICS_PORT: String(port) }
    const { enqueue, job, count, stop } = await dev(env)
    const slow = await enqueue('slow')
    await gate.reached
    await folder.write('jobs.mjs', jobs('new'))
    await eventually(() => expect(count(ENDED)).toBe(1))
    gate.open()
    const fast = await enqueue('fast')
    await eventually(async () => expect(await job(fast)).toMatchObject({ result: 'new one' }))
    expect(await job(slow)).toMatchObject({ run: 1, result: 'old' })
    expect(await stop()).toBe(0)
  })

  test('a Ctrl-C that arrives twice at once is one: a running job may end', async () => {
    const gate = await openGate()
    const env: Record<string, string> = { ...(await createEnv()), GATE: gate.url }
    const { process, enqueue } = await dev(env)
    const slow = await enqueue('slow')
    await gate.reached
    process.child.kill('SIGINT')
    const ended = process.stop('SIGINT')
    await process.said('a second signal stops at once')
    gate.open()
    expect(await ended).toBe(0)
    expect(await shownJob(slow, env)).toMatchObject({ status: 'completed', run: 1 })
  })

  test('a second signal gives a running job back to the queue; a kill leaves no process behind', async () => {
    const gate = await openGate()
    const env: Record<string, string> = { ...(await createEnv()), GATE: gate.url }
    const first = await dev(env)
    const slow = await first.enqueue('slow')
    await gate.reached
    first.process.child.kill('SIGINT')
    await first.process.said('a second signal stops at once')
    // Not SIGINT again: within 100 ms that would be the echo of npm's shell.
    expect(await first.process.stop('SIGTERM')).toBe(143)

    const second = start(['dev', '--port', '0'], { ...env, ONCUE_GRACE: '50ms' }, folder.path)
    await second.said('worker started')
    // Its pipes are closed once the handlers, too, have ended.
    expect(await second.stop('SIGKILL')).toBe('SIGKILL')
    expect(await shownJob(slow, env)).toMatchObject({ status: 'pending', result: null, lockedBy: null })
    gate.open()
  })
})

test('the link signs a browser in, once, and only on this machine', async () => {
  const { url, link, stop } = await dev({ ONCUE_HOST: '0.0.0.0' })
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/open\/[A-Z0-9-]{11}$/)
  const open = (host: string, address = '127.0.0.1', method = 'GET') =>
    new Promise<{ status: number | undefined; location: unknown; cookie: string }>((resolve, reject) => {
      const { port, pathname: path } = new URL(link)
      request({ host: address, port, path, method, headers: { host } }, (response) => {
        const { statusCode: status, headers } = response.resume()
        const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
        resolve({ status, location: headers.location, cookie })
      })
        .on('error', reject)
        .end()
    })
  expect(await open('evil.example')).toMatchObject({ status: 403 })
  const others = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  for (const { address, internal, family } of others)
    if (!internal && family === 'IPv4')
      expect(await open('localhost', address)).toMatchObject({ status: 403 })
  await open('localhost', '127.0.0.1', 'HEAD')
  const { status, location, cookie } = await open('localhost')
  expect({ status, location }).toEqual({ status: 303, location: '/' })
  const me = await fetch(`${url}/api/jobs`, { headers: { cookie } })
  expect(me.status).toBe(200)
  expect(await open('localhost')).toMatchObject({ status: 403 })
  const again = await fetch(link, { headers: { accept: 'text/html', cookie }, redirect: 'manual' })
  expect([again.status, again.headers.get('location')]).toEqual([303, '/'])
  const other = await fetch(link, { headers: { accept: 'text/html' } })
  expect([other.status, await other.text()]).toEqual([
    403,
    expect.stringContaining('This link has been used'),
  ])
  expect(await stop()).toBe(0)
})

/** A server that holds a request back until the gate is opened. */
async function openGate() {
  const [reached, opened] = [new Gate<undefined>(), new Gate<undefined>()]
  const server = createServer(async (_, response) => {
    reached.open(undefined)
    await opened.opened
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, reached: reached.opened, open: () => opened.open(undefined) }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
