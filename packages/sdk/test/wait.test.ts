import { describe, expect, it, vi } from 'vitest'
import { DIALECTS, Network, startWorld } from './harness.ts'

const LONG = { timeout: 10_000 }

describe.each(DIALECTS)('waiting for a job that takes long, on %s', (dialect) => {
  it('is one request, a stream, and one request for the result', async () => {
    const world = await startWorld(dialect)
    const network = new Network()
    const client = world.client({ fetch: network.fetch })
    const id = await client.jobs.enqueue('embed', { size: 1 })
    const result = client.jobs.wait(id)
    await vi.waitFor(() => expect(network.requests).toContain('jobs.watch'), LONG)
    await world.work({ embed: async () => null })
    expect(await result).toBeNull()
    expect(network.requests).toEqual(['jobs.enqueue', 'jobs.wait', 'jobs.watch', 'jobs.wait'])
  })

  it.each([
    ['are refused', async () => new Response('no streams here', { status: 502 })],
    ['say nothing', () => new Promise<never>(() => {})],
  ])('is request after request where streams %s', async (_, onStream) => {
    const world = await startWorld(dialect)
    const network = new Network({ 'jobs.watch': onStream })
    const client = world.client({ fetch: network.fetch, timeoutMs: 500, retries: 0 })
    const id = await client.jobs.enqueue('embed', { size: 1 })
    const result = client.jobs.wait(id)
    await vi.waitFor(() => expect(network.requests.slice(-2)).toEqual(['jobs.watch', 'jobs.wait']), LONG)
    await world.work({ embed: async () => null })
    expect(await result).toBeNull()
  })

  it('ends at once when nobody wants to know any more, or when there is no time left', async () => {
    const world = await startWorld(dialect)
    const network = new Network()
    const client = world.client({ fetch: network.fetch })
    const id = await client.jobs.enqueue('embed', { size: 1 })
    const leave = new AbortController()
    const left = client.jobs.wait(id, { signal: leave.signal })
    const late = client.jobs.wait(id, { timeoutMs: 3_000 })
    const expectations = Promise.all([
      expect(left).rejects.toThrow('gone home'),
      expect(late).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' }),
    ])
    const streams = () => network.requests.filter((name) => name === 'jobs.watch')
    await vi.waitFor(() => expect(streams()).toHaveLength(2), LONG)
    leave.abort(new Error('gone home'))
    await expectations
  })
})
