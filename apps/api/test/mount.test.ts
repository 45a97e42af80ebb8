import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { createDatabase } from '@oncue/db/testing'
import { silentLogger } from '@oncue/runtime'
import { createFolder, type Folder } from '@oncue/testing'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { PAGES } from '../src/http/static-app.ts'
import { type OncueApp, type OncueAppOptions, oncueApp, type Person } from '../src/index.ts'

// Oncue below a path of other servers, for the people whom those have signed in.

const BASE = '/admin/jobs'
const ADA: Person = { id: 'ada', name: 'Ada', role: 'admin' }
const VIC: Person = { id: 'vic', role: 'viewer' }

/** The sign-in of the host: a cookie. */
const authenticate = (request: Request): Person | null => {
  const [, id] = /\bsid=(\w+)/.exec(request.headers.get('cookie') ?? '') ?? []
  return [ADA, VIC].find((person) => person.id === id) ?? null
}

interface Host {
  readonly url: string
  close(): Promise<void>
}

const HOSTS: Readonly<Record<string, (oncue: OncueApp) => Promise<Host>>> = {
  async Hono(oncue) {
    const app = new Hono()
    app.all(`${BASE}/*`, (c) => oncue.fetch(c.req.raw))
    app.get('/', (c) => c.text('the host'))
    return listen(createServer(getRequestListener(app.fetch)))
  },
  async Express(oncue) {
    const app = express()
    app.use(BASE, (request, response) => oncue.node(request, response))
    app.get('/', (_, response) => void response.send('the host'))
    return listen(createServer(app))
  },
  async 'Express behind express.json()'(oncue) {
    const app = express()
    app.use(express.json())
    app.use(BASE, (request, response) => oncue.node(request, response))
    app.get('/', (_, response) => void response.send('the host'))
    return listen(createServer(app))
  },
  async Fastify(oncue) {
    const app = fastify()
    await app.register(async (scope) => {
      scope.addHook('onRequest', async (request, reply) => {
        reply.hijack()
        await oncue.node(request.raw, reply.raw)
      })
      for (const path of [BASE, `${BASE}/*`]) scope.all(path, async () => {})
    })
    app.get('/', async () => 'the host')
    const url = await app.listen({ port: 0 })
    return { url, close: () => app.close() }
  },
}

async function listen(server: Server): Promise<Host> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

let app: Folder
beforeAll(async () => {
  app = await createFolder()
  await app.write(
    'index.html',
    '<!doctype html>\n<html lang="en"><link rel="manifest" href="/manifest.webmanifest"><script src="/index-0123abcd.js"></script></html>',
  )
  const icons = [{ src: '/icon.png' }]
  await app.write('manifest.webmanifest', JSON.stringify({ id: '/', start_url: '/', scope: '/', icons }))
  await app.write('index-0123abcd.js', 'start()')
  vi.stubEnv('ONCUE_APP_DIR', app.path)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await app.remove()
})

let database: Awaited<ReturnType<typeof createDatabase>>
const open: { close(): Promise<void> }[] = []
beforeEach(async () => {
  database = await createDatabase('sqlite')
})
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
  await database.drop()
})

function mount(options: Partial<OncueAppOptions> = {}): OncueApp {
  const oncue = oncueApp({
    ...{ basePath: BASE, authenticate, url: database.url, background: false, log: silentLogger },
    ...options,
  })
  open.push(oncue)
  return oncue
}

async function openHost(name: keyof typeof HOSTS, options?: Partial<OncueAppOptions>): Promise<string> {
  const host = await HOSTS[name]?.(mount(options))
  if (!host) throw new Error(`no host ${name}`)
  open.push(host)
  return host.url
}

const as = ({ id }: Person, headers: Record<string, string> = {}) => ({
  cookie: `theme=dark; sid=${id}`,
  ...headers,
})
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }

function enqueue(url: string, headers: Record<string, string>) {
  const body = JSON.stringify({ topic: 'mail', payload: { userId: '1' } })
  return fetch(`${url}${BASE}/api/jobs/enqueue`, { method: 'POST', headers, body })
}

describe.each(Object.keys(HOSTS))('below a path of %s', (name) => {
  let url: string
  beforeEach(async () => {
    url = await openHost(name, { signIn: '/login' })
  })

  test('a person of the host reads and changes, over REST and tRPC', async () => {
    const response = await enqueue(url, as(ADA, SAME_ORIGIN))
    expect([response.status, await response.json()]).toMatchObject([201, { topic: 'mail' }])
    const me = await fetch(`${url}${BASE}/trpc/tokens.me`, { headers: as(ADA) })
    expect(await me.json()).toMatchObject({
      result: { data: { json: { kind: 'host', id: 'ada', name: 'Ada', role: 'admin' } } },
    })
    const audit = await fetch(`${url}${BASE}/trpc/audit.list`, { headers: as(ADA) })
    expect(await audit.text()).toContain('"actor":{"id":"ada","name":"Ada","kind":"host"}')
  })

  test('the role is that of the host', async () => {
    expect((await enqueue(url, as(VIC, SAME_ORIGIN))).status).toBe(403)
    expect((await fetch(`${url}${BASE}/api/jobs`, { headers: as(VIC) })).status).toBe(200)
  })

  test('the app finds its files and its pages below the path', async () => {
    for (const path of ['', '/', '/jobs/mail.v2?tab=1']) {
      const page = await fetch(`${url}${BASE}${path}`, { headers: as(ADA, { accept: 'text/html' }) })
      expect(page.status).toBe(200)
      const html = await page.text()
      expect(html).toContain(`<html data-base="${BASE}"`)
      expect(html).toContain(`src="${BASE}/index-0123abcd.js"`)
    }
    const script = await fetch(`${url}${BASE}/index-0123abcd.js`, { headers: as(ADA) })
    expect([script.headers.get('cache-control'), await script.text()]).toEqual([
      expect.stringContaining('immutable'),
      'start()',
    ])
    const manifest = await fetch(`${url}${BASE}/manifest.webmanifest`, { headers: as(ADA) })
    expect(await manifest.json()).toMatchObject({ scope: `${BASE}/`, icons: [{ src: `${BASE}/icon.png` }] })
    expect(await (await fetch(url)).text()).toBe('the host')
  })

  test('a stream sends events, and ends when its reader leaves', async () => {
    const leaving = new AbortController()
    const response = await fetch(`${url}${BASE}/trpc/health.watch`, {
      headers: as(ADA),
      signal: leaving.signal,
    })
    expect(response.headers.get('content-type')).toMatch('text/event-stream')
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('"version"')) text += (await reader?.read())?.value ?? ''
    leaving.abort()
  })

  test('strangers get nothing: pages lead to the sign-in, everything else is refused', async () => {
    const page = await fetch(`${url}${BASE}/jobs/1`, { headers: { accept: 'text/html' }, redirect: 'manual' })
    expect([page.status, page.headers.get('location')]).toEqual([303, '/login'])
    for (const path of ['/api/jobs', '/trpc/jobs.list', '/index-0123abcd.js', '/docs', '/readyz', '/metrics'])
      expect([path, (await fetch(`${url}${BASE}${path}`)).status]).toEqual([path, 401])
    expect((await enqueue(url, SAME_ORIGIN)).status).toBe(401)
  })

  test('a change from a page of this host is accepted without Sec-Fetch-Site, by its origin', async () => {
    const headers = { 'content-type': 'application/json', origin: url }
    expect((await enqueue(url, as(ADA, headers))).status).toBe(201)
  })
})

test.each([
  ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
  ['a sibling domain', { 'sec-fetch-site': 'same-site', origin: 'https://blog.shop.example' }],
  ['another origin, without Sec-Fetch-Site', { origin: 'https://evil.example' }],
  ['neither header', {}],
])('a change from %s is refused', async (_, headers) => {
  const url = await openHost('Hono')
  const response = await enqueue(url, as(ADA, { 'content-type': 'application/json', ...headers }))
  expect([response.status, await response.json()]).toMatchObject([403, { error: { code: 'FORBIDDEN' } }])
})

test('the page to try the API finds its files below the path', async () => {
  const url = await openHost('Hono')
  for (const path of ['/docs', '/docs/']) {
    const page = await fetch(`${url}${BASE}${path}`, { headers: as(ADA) })
    const files = [...(await page.text()).matchAll(/\b(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file)
    expect(files.length).toBeGreaterThan(3)
    for (const file of files) {
      const { status } = await fetch(new URL(file, page.url), { headers: as(ADA) })
      expect([file, status]).toEqual([file, 200])
    }
  }
})

test('whether a host is reached by https alone is its own affair', async () => {
  const url = await openHost('Hono')
  for (const headers of [as(ADA), {}]) {
    const { headers: sent } = await fetch(`${url}${BASE}/api/jobs`, { headers })
    expect(sent.get('x-frame-options')).toBe('DENY')
    expect(sent.get('strict-transport-security')).toBeNull()
  }
  const failing = () => Promise.reject(new Error('no database'))
  const failed = await mount({ authenticate: failing }).fetch(new Request(`http://localhost${BASE}/`))
  expect(failed.headers.get('strict-transport-security')).toBeNull()
})

test('a form of another page cannot be a request: only JSON is read', async () => {
  const url = await openHost('Hono')
  const response = await enqueue(url, as(ADA, { ...SAME_ORIGIN, 'content-type': 'text/plain' }))
  expect(response.status).toBe(415)
})

test('tokens of Oncue are not accepted, and it has no sign-in of its own', async () => {
  const url = await openHost('Hono')
  const authorization = `Bearer oncue_${'x'.repeat(43)}`
  expect((await fetch(`${url}${BASE}/api/jobs`, { headers: { authorization } })).status).toBe(401)
  const signIn = { method: 'POST', headers: as(ADA, SAME_ORIGIN), body: JSON.stringify({ token: 'x' }) }
  expect((await fetch(`${url}${BASE}/api/session`, signIn)).status).toBe(404)
})

test('a host passes what its framework knows of the request', async () => {
  const oncue = oncueApp({
    ...{ basePath: '/', url: database.url, background: false, log: silentLogger },
    authenticate: (_, user: Person | null) => user,
  })
  open.push(oncue)
  const request = () => new Request('http://localhost/api/jobs')
  expect((await oncue.fetch(request(), ADA)).status).toBe(200)
  expect((await oncue.fetch(request(), null)).status).toBe(401)
})

test('a request elsewhere is told what basePath is', async () => {
  const response = await mount().fetch(new Request('http://localhost/jobs/api/jobs'))
  expect([response.status, await response.text()]).toEqual([404, expect.stringContaining(BASE)])
})

test('an error of the host is a failure of the server, without its text', async () => {
  const failing = () => Promise.reject(new Error('secret of the host'))
  const response = await mount({ authenticate: failing }).fetch(new Request(`http://localhost${BASE}/`))
  expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining('secret')])
})

test.each(['admin', '/a b', '/a"><b', '/a?b'])('%j is no basePath', (basePath) => {
  expect(() => mount({ basePath })).toThrow('basePath must be a path')
})

test.each(['/jobs', '/job', '/settings/'])('%s could not be told from a page of the app', (basePath) => {
  expect(() => mount({ basePath })).toThrow('is how the address of a page of the app begins')
})

test('the pages that are known here are those of the app', () => {
  const home = fileURLToPath(new URL('../../mobile/src/app', import.meta.url))
  const names = ['', '(tabs)'].flatMap((folder) => readdirSync(join(home, folder)))
  const pages = names
    .filter((name) => !/^[_+(]|^index\./.test(name))
    .map((name) => name.replace(/\.tsx$/, ''))
  expect([...PAGES].sort()).toEqual([...new Set(pages)].sort())
})

test('the first request starts it, and a start that failed is tried again', async () => {
  const folder = await createFolder()
  const url = `file:${folder.path}/later.db`
  const oncue = mount({ url })
  const request = () => new Request(`http://localhost${BASE}/api/jobs`, { headers: as(ADA) })
  expect((await oncue.fetch(request())).status).toBeGreaterThanOrEqual(500)
  const { migrate } = await import('@oncue/db')
  await migrate(url)
  expect((await oncue.fetch(request())).status).toBe(200)
  await oncue.close()
  expect((await oncue.fetch(request())).status).toBe(500)
  await folder.remove()
})

test('closing ends open streams', async () => {
  const oncue = mount()
  const response = await oncue.fetch(
    new Request(`http://localhost${BASE}/trpc/health.watch`, { headers: as(ADA) }),
  )
  const text = response.text()
  await oncue.close()
  await text
})
