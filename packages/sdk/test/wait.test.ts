import { defineJobs, defineWorkers, job, newJobId } from '@oncue/core'
import { eventually } from '@oncue/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../src/deadline.ts'
import { createClient } from '../src/index.ts'
import type { Transport } from '../src/transport.ts'
import { waitForResult } from '../src/wait.ts'
import { DIALECTS, Network, startWorld } from './harness.ts'

const LONG = { timeout: 30_000 }
const DAY_MS = 24 * 60 * 60_000

describe.each(DIALECTS)('a job without payload and result, on %s', (dialect) => {
  const nothing = defineJobs({
    ping: job({ input: z.void(), output: z.void() }),
    perhaps: job({
      input: z.object({ to: z.string() }).optional(),
      output: z.object({ sent: z.number() }).optional(),
    }),
    fallback: job({ input: z.number().default(5), output: z.number().default(7) }),
  })

  it('is sent, run and waited for as its schemas say', async () => {
    const world = await startWorld(dialect)
    const seen: unknown[] = []
    const see = ({ payload }: { readonly payload: unknown }) => void seen.push(payload)
    // The API checks payloads against what the worker announced, so the worker starts first.
    await world.work(
      defineWorkers(nothing, {
        ping: see,
        perhaps: (running) => {
          see(running)
          return undefined
        },
        fallback: (running) => {
          see(running)
          return undefined
        },
      }),
    )
    const { jobs } = createClient({ url: world.url, token: world.adminToken, jobs: nothing })
    const results = [
      await jobs.wait(await jobs.enqueue('ping', undefined)),
      await jobs.wait(await jobs.enqueue('perhaps', undefined)),
      await jobs.wait(await jobs.enqueue('fallback', undefined)),
    ]
    expect(results).toEqual([undefined, undefined, 7])
    expect(seen).toEqual([undefined, undefined, 5])
  })
})

describe.each(DIALECTS)('waiting for a job that takes long, on %s', (dialect) => {
  it('takes one request, a stream, and one request for the result', async () => {
    const world = await startWorld(dialect)
    const network = new Network()
    const client = world.client({ fetch: network.fetch })
    const id = await client.jobs.enqueue('embed', { size: 1 })
    const result = client.jobs.wait(id)
    await eventually(() => expect(network.requests).toContain('jobs.watch'))
    await world.work({ embed: async () => null })
    expect(await result).toBeNull()
    expect(network.requests).toEqual(['jobs.enqueue', 'jobs.wait', 'jobs.watch', 'jobs.wait'])
  })

  it('is possible for a producer, who may read nothing else', async () => {
    const world = await startWorld(dialect)
    const { secret } = await world.client().tokens.create({
      ...{ name: 'shop', role: 'producer', allowedTopics: ['embed'] },
    })
    const network = new Network()
    const shop = world.client({ fetch: network.fetch, token: secret })
    const id = await shop.jobs.enqueue('embed', { size: 1 })
    const result = shop.jobs.wait(id)
    await eventually(() => expect(network.requests).toContain('jobs.watch'))
    await world.work({ embed: async () => null })
    expect(await result).toBeNull()
    await expect(shop.jobs.list({})).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  it('takes repeated requests where streams are blocked, which is detected once', LONG, async () => {
    const world = await startWorld(dialect)
    const { jobs } = world.client()
    const networks = [
      new Network({ 'jobs.watch': async () => new Response('no streams here', { status: 502 }) }),
      new Network({ 'jobs.watch': () => new Promise<never>(() => {}) }),
      new Network({ 'jobs.watch': async () => new Response(new ReadableStream(), EVENTS) }),
    ].map((network) => ({ network, client: world.client({ fetch: network.fetch }) }))

    const first = await jobs.enqueue('embed', { size: 1 })
    const results = networks.map(({ client }) => client.jobs.wait(first))
    for (const { network } of networks)
      await eventually(() => expect(network.requests).toEqual(['jobs.wait', 'jobs.watch', 'jobs.wait']))
    await world.work({ embed: async () => null })
    expect(await Promise.all(results)).toEqual([null, null, null])

    const second = await jobs.enqueue('embed', { size: 2 }, { delay: 3_000 })
    for (const { network } of networks) network.requests.length = 0
    await Promise.all(networks.map(({ client }) => client.jobs.wait(second)))
    for (const { network } of networks) expect(network.requests).toEqual(['jobs.wait'])
  })

  it('continues with another stream when an open one breaks', async () => {
    const world = await startWorld(dialect)
    let streams = 0
    const network = new Network()
    const client = world.client({
      async fetch(input, init) {
        const response = await network.fetch(input, init)
        const isFirst = network.requests.at(-1) === 'jobs.watch' && ++streams === 1
        return isFirst ? breakingAfter('"pending"', response) : response
      },
    })
    const id = await client.jobs.enqueue('embed', { size: 1 })
    const result = client.jobs.wait(id)
    await eventually(() => expect(streams).toBe(2))
    await world.work({ embed: async () => null })
    expect(await result).toBeNull()
    expect(network.requests).toEqual(['jobs.enqueue', 'jobs.wait', 'jobs.watch', 'jobs.watch', 'jobs.wait'])
  })

  it('takes one request if that can last for the remaining time', async () => {
    const world = await startWorld(dialect)
    const network = new Network()
    const client = world.client({ fetch: network.fetch })
    const id = await client.jobs.enqueue('embed', { size: 1 }, { delay: 3_000 })
    await world.work({ embed: async () => null })
    expect(await client.jobs.wait(id, { timeoutMs: 20_000 })).toBeNull()
    expect(network.requests).toEqual(['jobs.enqueue', 'jobs.wait'])
  })

  it('ends at once when the caller aborts it, or when there is no time left', async () => {
    const world = await startWorld(dialect)
    const network = new Network()
    const client = world.client({ fetch: network.fetch })
    const id = await client.jobs.enqueue('embed', { size: 1 })
    await expect(client.jobs.wait(id, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' })
    const leave = new AbortController()
    const left = expect(client.jobs.wait(id, { signal: leave.signal })).rejects.toThrow('gone home')
    await eventually(() => expect(network.requests).toContain('jobs.watch'))
    leave.abort(new Error('gone home'))
    await left
  })
})

describe.each(DIALECTS)('a wait, on %s', (dialect) => {
  it.each([30 * DAY_MS, Number.POSITIVE_INFINITY, 20_000.5])('may take %d ms', async (timeoutMs) => {
    const world = await startWorld(dialect)
    const client = world.client()
    const id = await client.jobs.enqueue('embed', { size: 1 })
    const result = client.jobs.wait(id, { timeoutMs })
    await world.work({ embed: async () => null })
    expect(await result).toBeNull()
  })

  it('for a job whose result this token may not see in full fails, with a definition and without', async () => {
    const world = await startWorld(dialect)
    const admin = createClient({ url: world.url, token: world.adminToken })
    const id = await admin.jobs.enqueue('sign_in', {})
    await world.work({ sign_in: async () => ({ user: 'ann', token: 'tk_1' }) })
    expect(await admin.jobs.wait(id)).toEqual({ user: 'ann', token: 'tk_1' })

    const { secret: token } = await admin.tokens.create({ name: 'ann', role: 'operator' })
    const output = z.object({ user: z.string(), token: z.string() })
    const jobs = defineJobs({ sign_in: job({ input: z.object({}), output }) })
    for (const known of [undefined, jobs])
      await expect(createClient({ url: world.url, token, jobs: known }).jobs.wait(id)).rejects.toMatchObject({
        code: 'INVALID_RESULT',
        details: { jobId: id, topic: 'sign_in', masked: ['result.token'] },
        hint: expect.stringContaining('jobs.get'),
      })
  })
})

it.each([-1, Number.NaN, Number.NEGATIVE_INFINITY, '5000', null])(
  'a wait for %s ms is refused before any request',
  async (timeoutMs) => {
    const network = new Network()
    const client = createClient({ url: 'http://127.0.0.1:1', fetch: network.fetch, retries: 0 })
    const waiting = client.jobs.wait('01900000-0000-7000-8000-000000000000', {
      timeoutMs: timeoutMs as number,
    })
    await expect(waiting).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: expect.stringContaining('timeoutMs'),
    })
    expect(network.requests).toEqual([])
  },
)

it('a long wait tries a stream again five minutes after one was blocked', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const started = Date.now()
  const streams: number[] = []
  const leave = new AbortController()
  const transport: Transport = {
    retries: 0,
    timeoutMs: 30_000,
    async call(_kind, _path, input) {
      await sleep((input as { timeoutMs: number }).timeoutMs, leave.signal)
      return { finished: false }
    },
    async *watch() {
      streams.push(Date.now() - started)
      yield await Promise.reject(new Error('no streams here'))
    },
    rest: () => Promise.reject(new Error('nobody asks')),
  }
  const left = expect(waitForResult(transport, undefined, newJobId(), leave)).rejects.toThrow('gone home')
  await vi.advanceTimersByTimeAsync(6 * 60_000)
  expect(streams).toEqual([2_000, 2_000 + 12 * 25_000 + 2_000])
  leave.abort(new Error('gone home'))
  await left
})

const EVENTS = { headers: { 'content-type': 'text/event-stream' } }

/** A connection that is lost once this text was read. */
function breakingAfter(text: string, response: Response): Response {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let seen = ''
  const body = new ReadableStream<string>(
    {
      async pull(controller) {
        if (seen.includes(text)) {
          await reader?.cancel()
          return controller.error(new TypeError('connection reset'))
        }
        const { value = '' } = (await reader?.read()) ?? {}
        seen += value
        controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body.pipeThrough(new TextEncoderStream()), response)
}
