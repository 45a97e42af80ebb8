import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { createDatabase } from '@oncue/db/testing'
import { silentLogger, simulate } from '@oncue/runtime'
import { createFolder, eventually } from '@oncue/testing'
import express from 'express'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type OncueApp, type OncueAppOptions, oncueApp, type Person } from '../src/index.ts'
import { Live } from '../src/live/live.ts'

// What goes wrong around a mounted app: people who leave, hosts that answer something else, hostile requests.

const BASE = '/admin/jobs'
const ADA: Person = { id: 'ada', name: 'Ada', role: 'admin' }
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
const MAIL = JSON.stringify({ topic: 'mail', payload: { userId: '1' } })

let database: Awaited<ReturnType<typeof createDatabase>>
const open: OncueApp[] = []
beforeEach(async () => {
  database = await createDatabase('sqlite')
})
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
  await database.drop()
})

function mount(options: Partial<OncueAppOptions> = {}): OncueApp {
  const oncue = oncueApp({
    ...{ basePath: BASE, authenticate: () => ADA, url: database.url, background: false, log: silentLogger },
    ...options,
  })
  open.push(oncue)
  return oncue
}

const ask = (path: string, init?: RequestInit) => new Request(`http://localhost${BASE}${path}`, init)
const enqueue = (init?: RequestInit) =>
  ask('/api/jobs/enqueue', { method: 'POST', headers: SAME_ORIGIN, body: MAIL, ...init })

/** A server of Node that gives requests to `oncue`, as `handle` does. */
async function listen(handle: Parameters<typeof createServer>[1]): Promise<number> {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** Counts the streams and waits that are open from now on. */
function countWaits(): { readonly open: number } {
  const waits = { open: 0 }
  const { enter } = Live.prototype
  const spy = vi.spyOn(Live.prototype, 'enter').mockImplementation(function (this: Live, caller) {
    const leave = enter.call(this, caller)
    waits.open++
    return () => {
      waits.open--
      leave()
    }
  })
  onTestFinished(() => spy.mockRestore())
  return waits
}

describe('a person who leaves', () => {
  test('while the host authenticates a web request', async () => {
    const leaving = new AbortController()
    const oncue = mount({
      authenticate() {
        leaving.abort()
        return ADA
      },
    })
    const response = await oncue.fetch(ask('/api/jobs', { signal: leaving.signal }))
    expect(response.status).toBe(499)
  })

  test('while a web request waits for a job', async () => {
    const waits = countWaits()
    // Time stands still: no wait ends by itself.
    const oncue = mount({ runtime: simulate() })
    const { id } = (await (await oncue.fetch(enqueue())).json()) as { id: string }
    const input = encodeURIComponent(JSON.stringify({ json: { id, timeoutMs: 30_000 } }))
    const leaving = new AbortController()
    const answered = oncue.fetch(ask(`/trpc/jobs.wait?input=${input}`, { signal: leaving.signal }))
    await eventually(() => expect(waits.open).toBe(1))
    leaving.abort()
    expect((await answered).status).toBe(499)
    await eventually(() => expect(waits.open).toBe(0))
  })

  test('while a request of Node waits for a job', async () => {
    const waits = countWaits()
    const oncue = mount({ runtime: simulate() })
    const { id } = (await (await oncue.fetch(enqueue())).json()) as { id: string }
    const input = encodeURIComponent(JSON.stringify({ json: { id, timeoutMs: 30_000 } }))
    const port = await listen((request, response) => void oncue.node(request, response))
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET ${BASE}/trpc/jobs.wait?input=${input} HTTP/1.1\r\nhost: x\r\n\r\n`)
    await eventually(() => expect(waits.open).toBe(1))
    socket.destroy()
    await eventually(() => expect(waits.open).toBe(0))
  })

  test('before the first event of a stream has been read', async () => {
    const oncue = mount()
    for (let round = 0; round < 20; round++) {
      const { body } = await oncue.fetch(ask('/trpc/health.watch'))
      await body?.cancel()
    }
    // The next request is served after what those streams still had to send.
    expect((await oncue.fetch(ask('/api/jobs'))).status).toBe(200)
  })

  test('while a web request sends its body', async () => {
    const leaving = new AbortController()
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{')),
      pull: () => leaving.abort(),
    })
    const request = enqueue({ body, duplex: 'half', signal: leaving.signal } as RequestInit)
    expect((await mount().fetch(request)).status).toBeGreaterThanOrEqual(400)
  })

  test('while the host authenticates a request of Node, which holds up no close', async () => {
    let isLeft = () => {}
    const left = new Promise<void>((resolve) => {
      isLeft = resolve
    })
    const oncue = mount({
      async authenticate() {
        socket.destroy()
        await left
        return ADA
      },
    })
    let settle = (_: Promise<void>) => {}
    const settled = new Promise<void>((resolve) => {
      settle = resolve
    })
    const port = await listen((request, response) => {
      response.once('close', isLeft)
      settle(oncue.node(request, response))
    })
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET ${BASE}/api/jobs HTTP/1.1\r\nhost: x\r\n\r\n`)
    await settled
  })
})

test('a host that has answered in the meantime keeps its answer', async () => {
  let settle = (_: Promise<void>) => {}
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })
  const oncue = mount()
  const port = await listen((request, response) => {
    settle(oncue.node(request, response))
    response.writeHead(503).end('too slow')
  })
  const response = await fetch(`http://127.0.0.1:${port}${BASE}/api/jobs`)
  expect([response.status, await response.text()]).toEqual([503, 'too slow'])
  await settled
})

describe('what authenticate returns', () => {
  test.each<[string, unknown]>([
    ['a text instead of a list of topics', { ...ADA, allowedTopics: 'mail_*' }],
    ['an empty text instead of a list', { ...ADA, allowedTopics: '' }],
    ['a text instead of a list of queues', { ...ADA, allowedQueues: '*' }],
    ['a pattern that is none', { ...ADA, allowedTopics: [null] }],
    ['an id that no database stores', { ...ADA, id: 'a\0b' }],
    ['an endless id', { ...ADA, id: 'x'.repeat(1_000) }],
    ['a name that is no text', { ...ADA, name: { first: 'Ada' } }],
    ['no role', { id: 'ada' }],
    ['a text', 'ada'],
  ])('%s is an error of the host, and nothing is done', async (_, person) => {
    const error = vi.fn()
    const oncue = mount({ authenticate: () => person as Person, log: { ...silentLogger, error } })
    expect((await oncue.fetch(enqueue())).status).toBe(500)
    const [[{ err }]] = error.mock.calls as [[{ err: { message: string } }]]
    expect(err.message).toContain('authenticate')
  })

  test('undefined is no person', async () => {
    expect((await mount({ authenticate: () => undefined }).fetch(enqueue())).status).toBe(401)
  })

  test('a list of topics is kept to', async () => {
    const oncue = mount({ authenticate: () => ({ ...ADA, role: 'operator', allowedTopics: ['report_*'] }) })
    expect((await oncue.fetch(enqueue())).status).toBe(403)
  })
})

test.each([`x${BASE}/healthz?`, 'x#', 'x\\y', 'x@y', 'a b'])(
  'the host %j does not change the path',
  async (host) => {
    const asked = vi.fn(() => ADA)
    const oncue = mount({ authenticate: asked })
    const port = await listen((request, response) => void oncue.node(request, response))
    const request = send({ port, path: `${BASE}/api/jobs`, headers: { host } }).end()
    const [response] = await once(request, 'response')
    response.resume()
    expect([response.statusCode, asked.mock.calls]).toEqual([400, []])
  },
)

test('a stranger learns nothing from paths that no procedure has', async () => {
  const oncue = mount({ authenticate: () => null })
  for (const path of ['/trpc/a/b', '/trpc/../healthz', '/trpc/a%2f..%2fb/c'])
    expect([path, (await oncue.fetch(ask(path))).status]).toEqual([path, 401])
})

test('a stranger is refused while the database is down, as after that', async () => {
  const folder = await createFolder()
  await folder.remove()
  const down = mount({ authenticate: () => null, url: `file:${folder.path}/oncue.db` })
  await expect(down.start()).rejects.toThrow()
  const up = mount({ authenticate: () => null })
  for (const path of ['/', '/api/jobs', '/trpc/jobs.list', '/nothing']) {
    const [refused, later] = [await down.fetch(ask(path)), await up.fetch(ask(path))]
    expect([path, refused.status, later.status]).toEqual([path, 401, 401])
    if (path.startsWith('/trpc/')) continue
    expect(refused.headers.has('x-request-id')).toBe(true)
    expect(await refused.json()).toEqual(await later.json())
  }
  // Otherwise its stream says so.
  expect((await down.fetch(ask('/trpc/health.watch'))).status).toBe(401)
})

test('a host speaks for its whole domain: no HSTS of ours, and no file of ours in shared caches', async () => {
  const app = await createFolder()
  await app.write('index.html', '<!doctype html>\n<html lang="en"></html>')
  await app.write('manifest.webmanifest', JSON.stringify({ id: '/', start_url: '/', scope: '/', icons: [] }))
  await app.write('index-0123abcd.js', 'start()')
  vi.stubEnv('ONCUE_APP_DIR', app.path)
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await app.remove()
  })
  const oncue = mount()
  const file = await oncue.fetch(ask('/index-0123abcd.js'))
  expect(file.headers.get('cache-control')).toBe('private, max-age=31536000, immutable')
  for (const path of ['/', '/api/jobs', '/nothing/at.all'])
    expect((await oncue.fetch(ask(path))).headers.has('strict-transport-security')).toBe(false)
})

test('a change by a web request has no address in the audit', async () => {
  const oncue = mount()
  await (await oncue.fetch(enqueue())).text()
  const audit = await (await oncue.fetch(ask('/trpc/audit.list'))).text()
  expect(audit).toContain('"action":"jobs.enqueue"')
  expect(audit).not.toContain('127.0.0.1')
})

test.each([
  ['text', express.text({ type: '*/*' })],
  ['bytes', express.raw({ type: '*/*' })],
])('a body that the host has read as %s is read', async (_, parser) => {
  const oncue = mount()
  const app = express()
  app.use(parser)
  app.use(BASE, (request, response) => void oncue.node(request, response))
  const port = await listen(app)
  const response = await fetch(`http://127.0.0.1:${port}${BASE}/api/jobs/enqueue`, {
    ...{ method: 'POST', headers: SAME_ORIGIN, body: MAIL },
  })
  expect([response.status, await response.json()]).toMatchObject([201, { topic: 'mail' }])
})

test.each([
  ['read', (request: Request) => request.text()],
  ['locked', (request: Request) => request.body?.getReader()],
])('a web request whose body the host has %s is the mistake of the host', async (_, take) => {
  const error = vi.fn()
  const request = enqueue()
  await take(request)
  const response = await mount({ log: { ...silentLogger, error } }).fetch(request)
  const [[{ err }]] = error.mock.calls as [[{ err: { hint: string } }]]
  expect([response.status, err.hint]).toEqual([500, 'Mount Oncue before what parses bodies.'])
})
