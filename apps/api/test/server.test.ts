import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { isOncueError } from '@oncue/core'
import { migrate, rollback } from '@oncue/db'
import { createEmptySqliteDatabase } from '@oncue/db/testing'
import { eventually } from '@oncue/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { readConfig, silentLogger, startApi } from '../src/index.ts'
import { createDatabase, DIALECTS, errorOf, startTestApi } from './harness.ts'

describe.each(DIALECTS)('the server on %s', (dialect) => {
  it('is live, and ready while the database has the expected schema', async () => {
    const database = await createDatabase(dialect)
    const api = await startTestApi({ url: database.url })
    expect(await (await api.fetch('/healthz', { token: null })).json()).toEqual({ status: 'ok' })
    const ready = await api.fetch('/readyz', { token: null })
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready' }])

    while (await rollback(database.url)) {}
    await eventually(async () => expect((await api.fetch('/readyz', { token: null })).status).toBe(503))
    expect((await api.fetch('/healthz', { token: null })).status).toBe(200)
    await api.close()
    await database.drop()
  })

  it('serves the configured schema, and checks it for readiness', async () => {
    const database = await createDatabase(dialect)
    await migrate(database.url, { schema: 'billing' })
    const env = { ONCUE_SCHEMA: 'billing' }
    const api = await startTestApi({ url: database.url }, { env })
    const other = await startTestApi({ url: database.url })
    const { id } = await api.client().jobs.enqueue.mutate({ topic: 'mail' })
    expect(await api.client().jobs.get.query({ id })).toMatchObject({ id })
    expect(await errorOf(other.client().jobs.get.query({ id }))).toMatchObject({ code: 'JOB_NOT_FOUND' })
    await api.client().settings.set.mutate({ deviceIdleDays: 9 })
    expect((await other.client().settings.get.query()).values.deviceIdleDays).not.toBe(9)

    while (await rollback(database.url, { schema: 'billing' })) {}
    await eventually(async () => expect((await api.fetch('/readyz', { token: null })).status).toBe(503))
    expect((await other.fetch('/readyz', { token: null })).status).toBe(200)
    await Promise.all([api.close(), other.close()])
    await database.drop()
  })

  it('reports finished and waiting jobs to Prometheus, if the token may read them', async () => {
    const api = await startTestApi(dialect)
    await api
      .client()
      .jobs.enqueueMany.mutate({ jobs: [{ topic: 'mail' }, { topic: 'mail', queue: 'high' }] })
    await api.complete(await api.claim('high'))
    expect((await api.fetch('/metrics', { token: null })).status).toBe(401)
    const metrics = await (await api.fetch('/metrics')).text()
    for (const line of [
      'oncue_jobs_enqueued_total{queue="high"} 1',
      'oncue_jobs_settled_total{outcome="completed"} 1',
      'oncue_jobs{status="pending"} 1',
      'oncue_queue_jobs{queue="default",state="waiting"} 1',
      'oncue_workers{state="alive"} 0',
      'oncue_job_wait_seconds_count 1',
      'oncue_job_run_seconds_bucket{le="+Inf"} 1',
      'oncue_pool_waiting 0',
    ]) {
      expect(metrics.split('\n')).toContain(line)
    }
    for (const name of [
      'oncue_job_wait_seconds_bucket{le="1.023"}',
      'oncue_job_run_seconds_sum',
      'oncue_pool_connections{state="idle"}',
      'oncue_queue_oldest_waiting_seconds{queue="default"}',
      'oncue_http_request_seconds_count{method="POST",route="/trpc/:path",status="200"}',
      'nodejs_eventloop_lag_seconds',
    ]) {
      expect(metrics).toContain(`\n${name} `)
    }
    const idle = Number(/^oncue_pool_connections\{state="idle"\} (\d+)$/m.exec(metrics)?.[1])
    expect(idle > 0).toBe(dialect === 'postgres')
  })

  it('reports the worst of very many queues by name, and the others together', async () => {
    const api = await startTestApi(dialect)
    const jobs = Array.from({ length: 700 }, (_, n) => ({ topic: 'x', queue: `q${n}` }))
    await api.client().jobs.enqueueMany.mutate({ jobs })
    const metrics = (await (await api.fetch('/metrics')).text()).split('\n')
    const waiting = metrics.filter((line) => /^oncue_queue_jobs\{.*state="waiting"\}/.test(line))
    expect(waiting).toHaveLength(501)
    expect(waiting).toContain('oncue_queue_jobs{queue="*",state="waiting"} 200')
    expect(metrics.filter((line) => line.startsWith('oncue_jobs_enqueued_total{'))).toHaveLength(501)
    expect(metrics).toContain('oncue_jobs_enqueued_total{queue="*"} 200')
  })

  it('counts requests by token, and by address for callers without one', async () => {
    const env = { ONCUE_RATE_LIMIT: '20', ONCUE_RATE_LIMIT_ADDRESS: '5' }
    const api = await startTestApi(dialect, { env })
    const viewer = await api.tokenFor('viewer')
    const codes = async (count: number, token: string | null) => {
      const statuses: number[] = []
      for (let n = 0; n < count; n++) statuses.push((await api.fetch('/trpc/queues.list', { token })).status)
      return statuses
    }
    expect(await codes(3, 'oncue_wrong')).toEqual([401, 401, 401])
    expect(await codes(3, null)).toEqual([401, 401, 429])
    const batch = Array.from({ length: 10 }, () => 'queues.list').join(',')
    expect((await api.fetch(`/trpc/${batch}?batch=1`, { token: viewer })).status).toBe(200)
    expect(await codes(11, viewer)).toEqual([...Array.from({ length: 10 }, () => 200), 429])
    const refused = await api.fetch('/api/jobs', { token: viewer })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused.json()).toMatchObject({ error: { code: 'RATE_LIMITED' } })
    // Another token at the same address is not affected.
    expect((await api.fetch('/trpc/queues.list')).status).toBe(200)
  })

  it('lets a cookie change things only from its own pages', async () => {
    const api = await startTestApi(dialect)
    const token = await api.tokenFor('operator')
    const signedIn = await api.fetch('/api/session', { token: null, json: { token } })
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    const pause = (headers: Record<string, string>) =>
      api.fetch('/trpc/queues.pause', {
        token: null,
        json: { json: { queue: 'default' } },
        headers: { cookie, ...headers },
      })
    expect((await pause({ origin: 'https://evil.example' })).status).toBe(403)
    expect((await pause({})).status).toBe(403)
    expect((await pause({ origin: api.url })).status).toBe(200)
    expect((await api.fetch('/trpc/queues.list', { token: null, headers: { cookie } })).status).toBe(200)
  })

  it('finishes requests and ends streams when it stops', async () => {
    const database = await createDatabase(dialect)
    const api = await startTestApi({ url: database.url })
    const id = await api.enqueue()
    const waiting = api.client().jobs.wait.query({ id })
    const input = encodeURIComponent(JSON.stringify({ json: { id } }))
    const response = await api.fetch(`/trpc/jobs.watch?input=${input}`)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    const stream = (async () => {
      for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
        text += next.value
    })()
    await eventually(() => expect(text).toContain('pending'))

    const start = performance.now()
    await api.close()
    // The stream ends without a final message, so that the client reconnects to another process.
    await stream
    expect(text).not.toContain('event: return')
    expect(await waiting).toMatchObject({ finished: false, status: 'pending' })
    expect(performance.now() - start).toBeLessThan(9_000)
    await expect(fetch(`${api.url}/healthz`)).rejects.toThrow('fetch failed')
    await database.drop()
  })

  it('refuses a database that is not migrated, and leaves nothing open', async () => {
    const database = await createEmptySqliteDatabase()
    const config = readConfig({ DATABASE_URL: database.url, ONCUE_PORT: '0' })
    await expect(startApi(config, silentLogger)).rejects.toSatisfy((error) =>
      isOncueError(error, 'MIGRATION_NEEDED'),
    )
    await database.drop()
  })
})

describe('the server', () => {
  it('sends a strict policy with everything, and allows no other origin', async () => {
    const api = await startTestApi('sqlite')
    const { headers } = await api.fetch('/healthz', { headers: { origin: 'https://elsewhere.example' } })
    const policy = headers.get('content-security-policy')?.split('; ')
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]),
    )
    expect(headers.get('content-security-policy')).not.toContain('unsafe-eval')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  it('allows the configured origins', async () => {
    const origin = 'https://console.example'
    const api = await startTestApi('sqlite', { env: { ONCUE_CORS_ORIGINS: `${origin}, https://b.example` } })
    const allowed = await api.fetch('/healthz', { headers: { origin } })
    expect(allowed.headers.get('access-control-allow-origin')).toBe(origin)
    const preflight = await api.fetch('/api/jobs/01900000-0000-7000-8000-000000000000', {
      method: 'OPTIONS',
      token: null,
      headers: {
        origin,
        'access-control-request-method': 'DELETE',
        'access-control-request-headers': 'authorization',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toContain('DELETE')
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization')
    const other = await api.fetch('/healthz', { headers: { origin: 'https://evil.example' } })
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
  })

  it.each([
    ['taken over when it is harmless', 'req-1.2:3', true],
    ['made anew when it is not', 'a b', false],
    ['made anew when it is too long', 'x'.repeat(129), false],
  ])('gives every response an id, %s', async (_, given, isKept) => {
    const api = await startTestApi('sqlite')
    const response = await api.fetch('/nothing.txt', { headers: { 'x-request-id': given } })
    expect(response.headers.get('x-request-id') === given).toBe(isKept)
    expect(response.headers.get('x-request-id')).toMatch(/^[\w.:/+=-]{1,128}$/)
  })

  it('refuses a path that cannot be decoded, and invalid HTTP, in the common shape', async () => {
    const api = await startTestApi('sqlite')
    const undecodable = await api.fetch('/api/jobs/%E0%A4%A')
    expect(undecodable.status).toBe(400)
    expect(await undecodable.json()).toMatchObject({ error: { code: 'INVALID_INPUT' } })

    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(api.url).port), '127.0.0.1', () =>
        socket.end('SPEAK FRIEND\r\n\r\n'),
      )
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      socket.on('close', () => resolve(text))
      socket.on('error', reject)
    })
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain('"code":"INVALID_INPUT"')
    expect((await api.fetch('/healthz')).status).toBe(200)
  })

  it('logs server errors with their cause and the request', async () => {
    const said: { fields: Record<string, unknown>; message: string }[] = []
    const error = (fields: object, message: string) => said.push({ fields: { ...fields }, message })
    const database = await createDatabase('sqlite')
    const config = readConfig({ DATABASE_URL: database.url, ONCUE_PORT: '0' })
    const api = await startApi(config, { ...silentLogger, error }, { background: false })
    const token = api.adminToken
    vi.spyOn(api.services.store, 'queues').mockRejectedValue(new TypeError('the secret is hunter2'))
    const response = await fetch(`${api.url}/trpc/queues.list`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(response.status).toBe(500)
    const text = await response.text()
    expect(text).not.toContain('hunter2')
    expect(text).toContain(response.headers.get('x-request-id') ?? 'no id')
    expect(said).toMatchObject([
      {
        fields: {
          requestId: response.headers.get('x-request-id'),
          code: 'INTERNAL',
          err: { cause: { message: 'the secret is hunter2' } },
        },
      },
    ])
    await api.close()
    await database.drop()
  })

  it.each([
    ['ONCUE_PORT', 'eighty', 'ONCUE_PORT=eighty must be a whole number'],
    ['ONCUE_ENQUEUE_RULE', 'anyone', 'ONCUE_ENQUEUE_RULE=anyone must be'],
    ['ONCUE_JWKS_URL', 'https://id.example/keys', 'ONCUE_JWKS_URL needs'],
    ['ONCUE_LOG_LEVEL', 'loud', 'ONCUE_LOG_LEVEL=loud must be one of'],
    ['ONCUE_SCHEMA', 'public', 'The schema "public" is reserved'],
  ])('refuses a wrong %s by its name', (name, value, message) => {
    expect(() => readConfig({ [name]: value })).toThrow(message)
  })

  it('does not let an anonymous caller enqueue', async () => {
    const api = await startTestApi('sqlite')
    const error = await errorOf(api.client(null).jobs.enqueue.mutate({ topic: 'mail' }))
    expect(error).toMatchObject({ code: 'UNAUTHORIZED' })
  })
})

describe('the app', () => {
  async function buildApp(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'oncue-app-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await mkdir(join(folder, '_expo/static/js/web'), { recursive: true })
    await writeFile(join(folder, 'index.html'), '<title>the app</title>')
    await writeFile(join(folder, 'favicon.ico'), 'icon')
    await writeFile(join(folder, SCRIPT), 'run()')
    return folder
  }
  const SCRIPT = '_expo/static/js/web/entry-5d41402abc4b2a76b9719d911017c592.js'

  it('is served with the right cache headers', async () => {
    const api = await startTestApi('sqlite', { env: { ONCUE_APP_DIR: await buildApp() } })
    const cacheOf = async (path: string) =>
      (await api.fetch(path, { token: null })).headers.get('cache-control')
    expect(await cacheOf('/')).toBe('no-cache')
    expect(await cacheOf('/index.html')).toBe('no-cache')
    expect(await cacheOf('/favicon.ico')).toBe('no-cache')
    expect(await cacheOf(`/${SCRIPT}`)).toBe('public, max-age=31536000, immutable')
  })

  it.each([
    ['/', 200],
    ['/jobs/01900000-0000-7000-8000-000000000000', 200],
    ['/settings?tab=tokens', 200],
    ['/missing.js', 404],
    ['/_expo/static/js/web/gone.js', 404],
    ['/api/nothing', 404],
    ['/trpc/nothing.here', 404],
    ['/..%2f..%2f..%2fetc/passwd', 200],
    ['/%2e%2e/%2e%2e/etc/passwd', 200],
  ])('responds to %s with %i', async (path, status) => {
    const api = await startTestApi('sqlite', { env: { ONCUE_APP_DIR: await buildApp() } })
    const response = await api.fetch(path)
    const text = await response.text()
    expect(response.status).toBe(status)
    if (status === 200) expect(text).toBe('<title>the app</title>')
    else expect(text).toContain('NOT_FOUND')
  })

  it('takes a dot for part of a name when a browser follows a link', async () => {
    const api = await startTestApi('sqlite', { env: { ONCUE_APP_DIR: await buildApp() } })
    const headers = { accept: 'text/html,application/xhtml+xml' }
    expect((await api.fetch('/queues/mail.v2', { headers })).status).toBe(200)
    expect((await api.fetch('/queues/mail.v2')).status).toBe(404)
    expect((await api.fetch('/api/mail.v2', { headers })).status).toBe(404)
  })

  it('is sent compressed to clients that accept it', async () => {
    const folder = await buildApp()
    await writeFile(join(folder, `${SCRIPT}.br`), brotliCompressSync('run()'))
    const api = await startTestApi('sqlite', { env: { ONCUE_APP_DIR: folder } })
    const response = await api.fetch(`/${SCRIPT}`, { headers: { 'accept-encoding': 'br' } })
    expect(response.headers.get('content-encoding')).toBe('br')
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(await response.text()).toBe('run()')
  })

  it('says how to build it when it is missing', async () => {
    const api = await startTestApi('sqlite', { env: { ONCUE_APP_DIR: '/nowhere' } })
    const response = await api.fetch('/jobs', { token: null })
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(await response.text()).toContain('build it and start again')
  })
})
