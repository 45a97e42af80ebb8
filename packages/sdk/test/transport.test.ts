import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newJobId } from '@oncue/core'
import { eventually } from '@oncue/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../src/index.ts'
import { createDatabase, DIALECTS, Network, startWorld } from './harness.ts'

describe.each(DIALECTS)('the connection to the API, on %s', (dialect) => {
  it('an enqueue whose response is lost is sent again, and stored once', async () => {
    const world = await startWorld(dialect)
    const network = new Network()
    const client = world.client({ fetch: network.fetch })
    network.lostAnswers = 2
    const id = await client.jobs.enqueue('embed', { size: 1 })
    network.lostAnswers = 1
    const { results } = await client.jobs.enqueueMany([{ topic: 'embed', payload: { size: 2 } }])
    network.lostAnswers = 1
    const [third, fourth] = await client.jobs.chain(['embed', { size: 3 }], ['embed', { size: 4 }])
    expect(network.requests).toHaveLength(3 + 2 + 2)
    const { items } = await client.jobs.list()
    expect(items.map((item) => item.id).sort()).toEqual([id, results[0]?.id, third, fourth].sort())
  })

  it('a call that is not idempotent is not sent twice', async () => {
    const world = await startWorld(dialect)
    const network = new Network()
    const client = world.client({ fetch: network.fetch })
    network.lostAnswers = 1
    await expect(client.tokens.create({ name: 'x', role: 'viewer' })).rejects.toMatchObject({
      code: 'NETWORK_ERROR',
      message: expect.stringContaining('connection reset'),
    })
    expect(network.requests).toEqual(['tokens.create'])
  })

  it('without retries no request id is made, and nothing is sent again', async () => {
    const world = await startWorld(dialect)
    const network = new Network()
    const client = world.client({ fetch: network.fetch, retries: 0 })
    network.lostAnswers = 1
    await expect(client.jobs.enqueue('embed', { size: 1 })).rejects.toMatchObject({ code: 'NETWORK_ERROR' })
    expect(network.requests).toHaveLength(1)
  })

  it('concurrent calls share requests; a single one, a large one and one that waits do not', async () => {
    const world = await startWorld(dialect)
    const network = new Network()
    const client = world.client({ fetch: network.fetch })
    const send = (n: number) => client.jobs.enqueue('embed', { size: n })
    const ids = await Promise.all(Array.from({ length: 60 }, (_, n) => send(n)))
    expect(new Set(ids).size).toBe(60)
    expect(network.requests.map((path) => path.split(',').length)).toEqual([50, 10])

    network.requests.length = 0
    const [id] = ids
    if (id === undefined) throw new Error('there is no id')
    await Promise.all([
      client.queues.list(),
      client.workers.list(),
      client.jobs.enqueue('extract', { url: 'x'.repeat(100_000) }),
      client.jobs.enqueue('extract', { url: 'x' }),
      client.jobs.wait(id, { timeoutMs: 1 }).catch(() => {}),
    ])
    expect(network.requests.sort()).toEqual([
      'jobs.enqueue',
      'jobs.enqueue',
      'jobs.wait',
      'queues.list,workers.list (batch)',
    ])
  })

  it('a request may take longer than the longest timer', async () => {
    const world = await startWorld(dialect)
    const client = world.client({ timeoutMs: 2 ** 31, retries: 0 })
    expect(await client.tokens.me()).toMatchObject({ role: 'admin' })
    for await (const { now } of client.health.watch()) {
      expect(now).toBeInstanceOf(Date)
      break
    }
  })

  it('an error has the code of the API', async () => {
    const world = await startWorld(dialect)
    const wrong = world.client({ token: 'oncue_wrong' })
    for (const call of [
      () => wrong.jobs.list(),
      () => Promise.all([wrong.jobs.list(), wrong.queues.list()]),
      () => wrong.jobs.watch(newJobId())[Symbol.asyncIterator]().next(),
    ]) {
      await expect(call()).rejects.toMatchObject({
        name: 'OncueError',
        code: 'UNAUTHORIZED',
        hint: expect.stringContaining('Bearer'),
      })
    }
    await expect(world.client().jobs.list({ cursor: 'x' })).rejects.toMatchObject({ code: 'INVALID_CURSOR' })
  })

  it('too many requests are refused with the code of the API, streams too', async () => {
    const world = await startWorld(dialect, { ONCUE_RATE_LIMIT: '1' })
    const client = world.client()
    await client.tokens.me()
    const refusal = { code: 'RATE_LIMITED', details: { retryAfterSeconds: expect.any(Number) } }
    await expect(client.tokens.me()).rejects.toMatchObject(refusal)
    await expect(client.jobs.watch(newJobId())[Symbol.asyncIterator]().next()).rejects.toMatchObject(refusal)
  })

  it('watching and waiting survive a restart of the API; no event is missed or repeated', async () => {
    const database = await createDatabase(dialect)
    onTestFinished(() => database.drop())
    const world = await startWorld({ url: database.url })
    const { port } = new URL(world.url)
    const client = world.client()
    const id = await client.jobs.enqueue('embed', { size: 1 })
    await world.store.events.append(id, 0, [{ type: 'node_started', data: 1 }])

    const seen: string[] = []
    const watching = (async () => {
      for await (const message of client.jobs.watch(id))
        seen.push(message.type === 'state' ? message.state.status : message.event.type)
    })()
    await eventually(() => expect(seen).toHaveLength(2))
    const waiting = client.jobs.wait(id).catch((error: unknown) => error)
    await world.close()

    const { store } = await startWorld({ url: database.url }, { ONCUE_PORT: port })
    await store.events.append(id, 1, [{ type: 'node_finished', data: 2 }])
    await store.cancel([id])
    await watching
    expect(await waiting).toMatchObject({ code: 'JOB_CANCELLED' })
    const events = seen.filter((what) => what.startsWith('node_'))
    expect(events).toEqual(['node_started', 'node_finished'])
    expect(seen.filter((what) => what === 'pending')).toHaveLength(1)
    expect(seen.at(-1)).toBe('cancelled')
  })
})

/** Streams of the API that a test can end in order, or break. */
function breakable() {
  const streams: { readonly end: () => Promise<void>; readonly lose: () => Promise<void> }[] = []
  const way = { isDown: false }
  const through: typeof fetch = async (input, init) => {
    if (way.isDown) throw new TypeError('the API is down')
    const response = await fetch(input, init)
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const leaving = new AbortController()
    const { signal } = leaving
    const piped = response.body?.pipeTo(writable, { signal, preventAbort: true }).catch(() => {})
    const leave = async () => {
      leaving.abort()
      await piped
      return writable
    }
    streams.push({
      end: async () => (await leave()).close(),
      lose: async () => (await leave()).abort(new TypeError('the cable is cut')),
    })
    return new Response(readable, response)
  }
  return { streams, way, fetch: through }
}

it('a stream that the API has ended is lost only if it cannot be opened again', async () => {
  const world = await startWorld('sqlite')
  const id = await world.client().jobs.enqueue('embed', { size: 1 })
  const { streams, way, fetch } = breakable()
  const told: (string | undefined)[] = []
  const seen: string[] = []
  const leaving = new AbortController()
  const watching = (async () => {
    const onConnection = (lost: { message: string } | null) => told.push(lost?.message.replace(/.*: /, ''))
    const { jobs } = world.client({ fetch })
    for await (const { type } of jobs.watch(id, { signal: leaving.signal, onConnection })) seen.push(type)
  })().catch(() => {})
  await eventually(() => expect(seen).toEqual(['state']))

  await streams[0]?.end()
  await world.store.events.append(id, 0, [{ type: 'node_started', data: 1 }])
  await eventually(() => expect(seen).toEqual(['state', 'event']))
  expect(told).toEqual([])

  await streams[1]?.lose()
  await eventually(() => expect(told).toEqual(['the cable is cut', undefined]))
  await world.store.events.append(id, 1, [{ type: 'node_finished', data: 2 }])
  await eventually(() => expect(seen).toEqual(['state', 'event', 'event']))

  way.isDown = true
  await streams[2]?.end()
  await eventually(() => expect(told.slice(2, 3)).toEqual(['the API is down']))
  leaving.abort()
  await watching
})

describe('without an API', () => {
  it('the error says so', async () => {
    const client = createClient({ url: 'http://127.0.0.1:1', retries: 1 })
    const refused = {
      code: 'NETWORK_ERROR',
      message: expect.stringContaining('http://127.0.0.1:1 is unreachable'),
    }
    await expect(client.queues.list()).rejects.toMatchObject(refused)
    await expect(client.health.watch()[Symbol.asyncIterator]().next()).rejects.toMatchObject(refused)
  })

  it('but another server, the error says that, too', async () => {
    const server = createServer((_, response) => response.end('<h1>It works!</h1>'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = createClient({ url, retries: 0 })
    await expect(client.queues.list()).rejects.toMatchObject({
      code: 'NETWORK_ERROR',
      message: `${url} is not an Oncue API`,
    })
  })

  it('a call does not take longer than its timeout, and the caller may abort it', async () => {
    const signals: (AbortSignal | null | undefined)[] = []
    const client = createClient({
      url: 'http://127.0.0.1:1',
      timeoutMs: 20,
      retries: 1,
      fetch: (_, init) => {
        signals.push(init?.signal)
        return new Promise(() => {})
      },
    })
    await expect(client.queues.list()).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' })
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true])
    const leave = new AbortController()
    const left = client.queues.list(undefined, { signal: leave.signal })
    leave.abort(new Error('gone home'))
    await expect(left).rejects.toThrow('gone home')
  })

  it.each([[''], ['localhost:4400'], ['ftp://x'], ['http://'], ['http://x?y'], [undefined]])(
    'a bad url is refused at once: %j',
    (url) => {
      expect(() => createClient({ url: url as string })).toThrow('url must be an address')
    },
  )

  it.each([{ retries: -1 }, { retries: 0.5 }, { timeoutMs: 0 }, { timeoutMs: Number.NaN }])(
    'and so are bad numbers: %j',
    (options) => {
      expect(() => createClient({ url: 'http://x', ...options })).toThrow('must be a whole number')
    },
  )
})
