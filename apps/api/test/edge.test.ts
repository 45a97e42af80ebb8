import { connect } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { readConfig } from '../src/index.ts'
import { DIALECTS, errorOf, startTestApi, type TestApi } from './harness.ts'

const MB = 1_048_576

/** Sends the head of a request and a part of its body, and waits for the response. */
function sendHalf(api: TestApi, path: string, headers: Record<string, string>): Promise<string> {
  const { hostname, port } = new URL(api.url)
  const head = Object.entries({ host: `${hostname}:${port}`, 'content-type': 'application/json', ...headers })
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(`POST ${path} HTTP/1.1\r\n${head.map((pair) => pair.join(': ')).join('\r\n')}\r\n\r\n`)
      socket.write(headers['transfer-encoding'] ? '1\r\n{\r\n' : '{')
    })
    onTestFinished(() => void socket.destroy())
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
      if (text.includes('\r\n\r\n')) resolve(text)
    })
    socket.on('error', reject)
  })
}

describe('an unfinished body', () => {
  const LENGTH = { 'content-length': `${10 * MB}` }

  it.each([
    ['a procedure', '/trpc/jobs.enqueueMany', LENGTH, 401],
    ['a procedure, in chunks', '/trpc/jobs.enqueueMany', { 'transfer-encoding': 'chunked' }, 401],
    ['a batch of them', '/trpc/jobs.enqueue,jobs.enqueueMany?batch=1', LENGTH, 401],
    ['a procedure that is none', '/trpc/jobs.nothing', LENGTH, 404],
    ['a query', '/trpc/jobs.list', LENGTH, 405],
    ['a procedure for all', '/trpc/pairings.exchange', LENGTH, 413],
    ['a batch with one for all', '/trpc/pairings.exchange,jobs.enqueueMany?batch=1', LENGTH, 413],
    ['REST', '/api/jobs/enqueue/batch', LENGTH, 401],
    ['REST, in chunks', '/api/jobs/enqueue', { 'transfer-encoding': 'chunked' }, 401],
    ['nothing', '/nothing', LENGTH, 404],
  ])('is not awaited when its caller is refused anyway: %s', async (_, path, headers, status) => {
    const api = await startTestApi('sqlite')
    expect(await sendHalf(api, path, headers)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })

  it('is not awaited when the token is wrong or lacks access', async () => {
    const api = await startTestApi('sqlite')
    const viewer = await api.tokenFor('viewer')
    const half = (token: string) =>
      sendHalf(api, '/trpc/jobs.enqueueMany', { ...LENGTH, authorization: `Bearer ${token}` })
    expect(await half('oncue_wrong')).toMatch(/^HTTP\/1.1 401 /)
    expect(await half(viewer)).toMatch(/^HTTP\/1.1 403 /)
  })
})

describe('a body', () => {
  const text = (bytes: number) => JSON.stringify({ json: 'x'.repeat(bytes - '{"json":""}'.length) })
  const post = async (api: TestApi, path: string, body: BodyInit, headers: Record<string, string>) => {
    const init = { method: 'POST', body, duplex: 'half', redirect: 'error' } as RequestInit
    const response = await api.fetch(path, {
      ...init,
      token: null,
      headers: { 'content-type': 'application/json', ...headers },
    })
    await response.text()
    return response.status
  }
  /** Without content-length, so that the size is known only at the end. */
  const chunked = (body: string) => new Blob([body]).stream()

  it.each<[string, string, number]>([
    ['a batch that is enqueued', 'jobs.enqueueMany', 10 * MB],
    ['one job', 'jobs.enqueue', 2 * MB],
    ['several calls that enqueue', 'jobs.enqueue,jobs.enqueue?batch=1', 4 * MB],
    ['a schedule with its payload', 'schedules.save', 2 * MB],
    ['anything else', 'queues.pause', MB / 4],
  ])('may be as large as it needs to be: %s', async (_, path, limit) => {
    const api = await startTestApi('sqlite')
    const bearer = { authorization: `Bearer ${await api.tokenFor('admin')}` }
    for (const make of [(body: string) => body, chunked]) {
      expect(await post(api, `/trpc/${path}`, make(text(limit)), bearer)).toBe(400)
      expect(await post(api, `/trpc/${path}`, make(text(limit + 1)), bearer)).toBe(413)
    }
  })

  it.each(['/api/jobs/enqueue', '/trpc/jobs.enqueue', '/trpc/jobs.enqueue,jobs.enqueue?batch=1'])(
    'in another encoding than UTF-8 is refused: %s',
    async (path) => {
      const api = await startTestApi('sqlite')
      const body = Buffer.from('{"topic":"mail_digest","payload":"café"}', 'latin1')
      const headers = { 'content-type': 'application/json' }
      const response = await api.fetch(path, { method: 'POST', body, headers })
      expect(response.status).toBe(400)
      expect(await response.text()).toContain('INVALID_JSON')
    },
  )

  it('that is nested deeply is refused before it is parsed', async () => {
    const api = await startTestApi('sqlite')
    const bearer = { authorization: `Bearer ${await api.tokenFor('producer')}` }
    const nested = (depth: number) =>
      `{"json":${'['.repeat(depth)}"${'[\\"'.repeat(MB)}"${']'.repeat(depth)}}`
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    expect(await post(api, '/trpc/jobs.enqueueMany', nested(256), bearer)).toBe(400)
    expect(parse.mock.calls.filter(([text]) => text.length > MB)).toEqual([])
    expect(await post(api, '/trpc/jobs.enqueueMany', nested(255), bearer)).toBe(400)
    expect(parse.mock.calls.filter(([text]) => text.length > MB)).toHaveLength(1)
  })

  it('has a lower limit with a cookie than with a token, and the lowest without credentials', async () => {
    const api = await startTestApi('sqlite', { env: { ONCUE_ENQUEUE_RULE: 'true' } })
    const token = await api.tokenFor('operator')
    const signedIn = await api.fetch('/api/session', { token: null, json: { token } })
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    const browser = { cookie, origin: api.url }
    expect(await post(api, '/trpc/jobs.enqueueMany', text(2 * MB), browser)).toBe(400)
    expect(await post(api, '/trpc/jobs.enqueueMany', text(2 * MB + 1), browser)).toBe(413)
    expect(await post(api, '/trpc/jobs.enqueueMany', text(MB / 4), {})).toBe(400)
    expect(await post(api, '/trpc/jobs.enqueueMany', text(MB / 4 + 1), {})).toBe(413)
    expect(await post(api, '/api/jobs/enqueue/batch', chunked(text(MB / 4 + 1)), {})).toBe(413)
  })

  it('of a sign-in has at most 16 KB', async () => {
    const api = await startTestApi('sqlite')
    for (const path of ['/api/session', '/api/session/pair']) {
      expect(await post(api, path, text(16 * 1_024), {})).toBe(400)
      expect(await post(api, path, text(16 * 1_024 + 1), {})).toBe(413)
    }
  })
})

describe('the rate limit', () => {
  const TEN = Array.from({ length: 10 }, () => 'queues.list')

  it.each([
    ['commas', `/trpc/${TEN.join(',')}?batch=1`],
    ['commas that are written as %2C', `/trpc/${TEN.join('%2C')}?batch=1`],
    ['a path that is written as /%74rpc/', `/%74rpc/${TEN.join(',')}?batch=1`],
    ['both', `/%74rp%63/${TEN.join('%2c')}?b%61tch=1`],
  ])('counts the calls that will be made: %s', async (_, path) => {
    const api = await startTestApi('sqlite', { env: { ONCUE_RATE_LIMIT: '15' } })
    const token = await api.tokenFor('viewer')
    expect(await (await api.fetch(path, { token })).json()).toHaveLength(10)
    expect((await api.fetch(path, { token })).status).toBe(429)
  })

  it.each([
    ['alone', TEN.join('%252C'), 404, 1],
    // The first call is made, so that tRPC sees the path.
    ['behind a call', `queues.list,${TEN.join('%252C')}`, 207, 2],
  ])('is not bypassed by commas that only tRPC would decode: %s', async (_, path, status, calls) => {
    const api = await startTestApi('sqlite')
    const response = await api.fetch(`/trpc/${path}?batch=1`)
    expect(await response.json()).toHaveLength(calls)
    expect(response.status).toBe(status)
  })
})

describe('behind a proxy', () => {
  /** The address in the audit for a request with this header. */
  async function addressOf(trust: string | undefined, forwarded: string | undefined): Promise<string> {
    const api = await startTestApi('sqlite', { env: trust === undefined ? {} : { ONCUE_TRUST_PROXY: trust } })
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    await api.fetch('/trpc/queues.pause', { json: { json: { queue: 'mail' } }, headers })
    const [entry] = (await api.client().audit.list.query({ action: 'queues.pause' })).items
    return entry?.ip ?? 'none'
  }

  it.each([
    ['nothing is believed by default', undefined, '203.0.113.7', '127.0.0.1'],
    ['one proxy is believed about one hop', 'true', '203.0.113.7, 198.51.100.1', '198.51.100.1'],
    ['and not about what the client wrote', 'true', '203.0.113.7', '203.0.113.7'],
    ['two are believed about two', '2', '192.0.2.1, 203.0.113.7, 198.51.100.1', '203.0.113.7'],
    [
      'those with an address that is known',
      '127.0.0.0/8, 10.0.0.0/8',
      '192.0.2.1, 203.0.113.7, 10.1.2.3',
      '203.0.113.7',
    ],
    ['none with another', '10.0.0.0/8', '203.0.113.7', '127.0.0.1'],
    ['what is no address is not written', 'true', '<script>', '127.0.0.1'],
    ['nor what only looks like one', 'true', '1.2.3.4.5', '127.0.0.1'],
    ['IPv4 in IPv6 is IPv4', 'true', '::ffff:203.0.113.7', '203.0.113.7'],
    ['IPv6 is written in short', 'true', '2001:0db8:0:0:0:0:0:1', '2001:db8::1'],
    ['without the header it is the proxy', 'true', undefined, '127.0.0.1'],
  ])('%s', async (_, trust, forwarded, address) => {
    expect(await addressOf(trust, forwarded)).toBe(address)
  })

  it.each([
    'maybe',
    '-1',
    '33',
    '1.5',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '10.0.0',
    'loopback,x',
    '10.0.0.0/8,,',
  ])('refuses ONCUE_TRUST_PROXY=%s', (value) => {
    expect(() => readConfig({ ONCUE_TRUST_PROXY: value })).toThrow(
      `ONCUE_TRUST_PROXY=${value} must be one of`,
    )
  })

  it('counts requests and failed sign-ins by the address, or the network of it', async () => {
    const env = { ONCUE_TRUST_PROXY: 'true', ONCUE_RATE_LIMIT_ADDRESS: '30' }
    const api = await startTestApi('sqlite', { env })
    const signIn = async (address: string) => {
      const headers = { 'x-forwarded-for': address }
      return (await api.fetch('/api/session', { token: null, json: { token: 'oncue_wrong' }, headers }))
        .status
    }
    // Entries that the client adds on the left are ignored.
    for (let n = 0; n < 20; n++) expect(await signIn(`192.0.2.${n}, 2001:db8::${n}`)).toBe(401)
    expect(await signIn('2001:db8::ffff')).toBe(429)
    expect(await signIn('2001:db8:0:1::1')).toBe(401)
    const ask = async (address: string) =>
      (await api.fetch('/trpc/queues.list', { token: null, headers: { 'x-forwarded-for': address } })).status
    for (let n = 0; n < 9; n++) expect(await ask(`2001:db8::1:${n}`)).toBe(401)
    expect(await ask('2001:db8::2:1')).toBe(429)
    expect(await ask('203.0.113.7')).toBe(401)
  })

  it('accepts a correct code, however many wrong ones others have sent', async () => {
    const env = { ONCUE_TRUST_PROXY: 'true' }
    const api = await startTestApi('sqlite', { env })
    const { code } = await api.client().pairings.create.mutate({})
    const exchange = async (typed: string, address: string) => {
      const json = { json: { code: typed, name: 'phone' } }
      const headers = { 'x-forwarded-for': address }
      return (await api.fetch('/trpc/pairings.exchange', { token: null, json, headers })).status
    }
    const statuses = await Promise.all(
      Array.from({ length: 400 }, (_, n) => exchange('ABC-DEF-GHJ', `198.51.100.${n % 100}`)),
    )
    expect(new Set(statuses)).toEqual(new Set([403]))
    expect(await exchange(code, '203.0.113.7')).toBe(200)
  })
})

describe('responses of the API are not cached', () => {
  it.each([
    ['a call', '/trpc/queues.list'],
    ['a call that fails', '/trpc/jobs.get'],
    ['a batch', '/trpc/queues.list,tokens.me?batch=1'],
    ['a procedure that is none', '/trpc/nothing'],
    ['a stream', '/trpc/health.watch'],
    ['REST', '/api/jobs'],
    ['REST that fails', '/api/jobs/none'],
    ['metrics', '/metrics'],
  ])('%s', async (_, path) => {
    const api = await startTestApi('sqlite')
    for (const token of [undefined, null]) {
      const leave = new AbortController()
      const { headers } = await api.fetch(path, { ...(token === null && { token }), signal: leave.signal })
      expect(headers.get('cache-control')?.split(', ')).toContain('no-store')
      leave.abort()
    }
  })
})

describe.each(DIALECTS)('searches that read job after job on %s', (dialect) => {
  it.each([...['jobs.list', 'bulkOperations.preview', 'jobs.requeue', 'jobs.cancel', 'jobs.delete']])(
    'has a budget of its own: %s',
    async (name) => {
      const api = await startTestApi(dialect, { env: { ONCUE_RATE_LIMIT_SEARCH: '2' } })
      const [token, other] = [await api.tokenFor('admin'), await api.tokenFor('admin')]
      const createdFrom = new Date(Date.now() - 60_000)
      const search = (as: string) => {
        const client = api.client(as)
        const filter = { payloadText: 'x', createdFrom }
        if (name === 'jobs.list') return client.jobs.list.query(filter)
        if (name === 'jobs.requeue') return client.jobs.requeue.mutate({ filter })
        if (name === 'jobs.cancel') return client.jobs.cancel.mutate({ filter })
        if (name === 'jobs.delete') return client.jobs.delete.mutate({ filter })
        return client.bulkOperations.preview.query({ action: 'cancel', filter: { topic: 'mail' } })
      }
      await Promise.all([search(token), search(token)])
      expect(await errorOf(search(token))).toMatchObject({
        ...{ code: 'RATE_LIMITED', details: { retryAfterSeconds: expect.any(Number) } },
      })
      await search(other)
      for (const filter of [{ idSuffix: '1a2b3c4d' }, { errorText: 'timeout' }])
        expect(await errorOf(api.client(token).jobs.list.query(filter))).toMatchObject({
          code: 'RATE_LIMITED',
        })
      // A filter with an index is no search.
      await api.client(token).jobs.list.query({ topic: 'mail', createdFrom })
      await api.client(token).jobs.cancel.mutate({ filter: { topic: 'mail', createdFrom } })
    },
  )
})
