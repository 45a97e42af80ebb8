import { OncueError } from '@oncue/sdk'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Connection, describeConnection } from './connection.ts'

const NETWORK = new OncueError('NETWORK_ERROR', 'cannot be reached')

/** A server whose stream and responses are controlled by the test. */
function createServer() {
  let push: (message: string) => void = () => {}
  let cut: (error: Error) => void = () => {}
  const server = {
    isUp: true,
    hasStream: true,
    opened: 0,
    asked: 0,
    received: [] as string[],
    refused: 0,
    back: 0,
    push: (message: string) => push(message),
    cut: (error: Error = NETWORK) => cut(error),
    async *watch(signal: AbortSignal) {
      server.opened += 1
      if (!server.isUp || !server.hasStream) throw NETWORK
      const inbox: string[] = ['first']
      for (;;) {
        for (let next = inbox.shift(); next; next = inbox.shift()) yield next
        await new Promise<void>((resolve, reject) => {
          push = (message) => {
            inbox.push(message)
            resolve()
          }
          cut = reject
          signal.addEventListener('abort', () => reject(signal.reason))
        })
      }
    },
    async get() {
      server.asked += 1
      if (!server.isUp) throw NETWORK
      return 'asked'
    },
    onMessage: (message: string) => void server.received.push(message),
    onBack() {
      server.back += 1
    },
    onRefused() {
      server.refused += 1
    },
  }
  return server
}

describe('a connection', () => {
  let server: ReturnType<typeof createServer>
  let connection: Connection<string>
  const phase = () => connection.state.get().phase
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  beforeEach(() => {
    vi.useFakeTimers({ now: new Date(2026, 10, 16, 3, 12) })
    server = createServer()
    connection = new Connection(server)
  })
  afterEach(() => {
    connection.stop()
    vi.useRealTimers()
  })

  it('is live while the stream is open', async () => {
    connection.start()
    await pass(0)
    server.push('second')
    await pass(0)
    expect(server.received).toEqual(['first', 'second'])
    expect(phase()).toBe('live')
  })

  it('does not report a gap of less than five seconds', async () => {
    connection.start()
    await pass(0)
    const said: string[] = []
    connection.state.subscribe(() => said.push(phase()))
    server.isUp = false
    server.cut()
    await pass(3_000)
    server.isUp = true
    await pass(4_000)
    expect(said.filter((each) => each !== 'live')).toEqual([])
    expect(phase()).toBe('live')
  })

  it('is reported as reconnecting, and then as offline since a time', async () => {
    connection.start()
    await pass(0)
    server.isUp = false
    server.cut()
    await pass(6_000)
    expect(phase()).toBe('reconnecting')
    await pass(20_000)
    expect(phase()).toBe('offline')
    expect(describeConnection(connection.state.get(), (at) => at.toTimeString().slice(0, 5))).toBe(
      'Offline, data from 03:12',
    )
  })

  it('is offline within five seconds when there is nothing to show yet', async () => {
    server.isUp = false
    connection.start()
    await pass(5_100)
    expect(phase()).toBe('offline')
    expect(describeConnection(connection.state.get(), String)).toBe('Offline')
  })

  it('does not report a restart of the server', async () => {
    connection.start()
    await pass(0)
    const said: string[] = []
    connection.state.subscribe(() => said.push(phase()))
    server.cut()
    await pass(1_000)
    expect([server.opened, new Set(said)]).toEqual([2, new Set(['live'])])
  })

  it('comes back by itself', async () => {
    server.isUp = false
    connection.start()
    await pass(60_000)
    server.isUp = true
    await pass(10_000)
    expect(phase()).toBe('live')
  })

  it('reports once that it is back, after a loss that was reported', async () => {
    connection.start()
    await pass(0)
    server.cut()
    await pass(1_000)
    expect(server.back).toBe(0)
    server.isUp = false
    server.cut()
    await pass(6_000)
    server.isUp = true
    connection.retryNow()
    await pass(30_000)
    expect([phase(), server.back]).toEqual(['live', 1])
  })

  it('is offline within two seconds when the device says so', async () => {
    connection.start()
    await pass(0)
    server.isUp = false
    connection.networkLost()
    await pass(2_000)
    expect(phase()).toBe('offline')
    await pass(30_000)
    expect(phase()).toBe('offline')
    server.isUp = true
    connection.retryNow()
    await pass(0)
    expect([phase(), server.back]).toEqual(['live', 1])
  })

  it('does not report a change from one network to another', async () => {
    connection.start()
    await pass(0)
    const said: string[] = []
    connection.state.subscribe(() => said.push(phase()))
    server.isUp = false
    connection.networkLost()
    await pass(400)
    server.isUp = true
    connection.retryNow()
    await pass(30_000)
    expect(new Set(said)).toEqual(new Set(['live']))
  })

  it('polls every ten seconds where no stream can be opened', async () => {
    server.hasStream = false
    connection.start()
    await pass(100)
    expect(phase()).toBe('polling')
    const before = server.asked
    await pass(30_000)
    expect(server.asked - before).toBe(3)
    expect(phase()).toBe('polling')
  })

  it('pauses, keeps its data, and resumes on request', async () => {
    connection.start()
    await pass(0)
    connection.pause()
    expect(phase()).toBe('paused')
    connection.start()
    await pass(60_000)
    expect([phase(), server.opened]).toEqual(['paused', 1])
    connection.resume()
    await pass(0)
    expect([phase(), server.opened]).toEqual(['live', 2])
  })

  it('opens no stream in the background', async () => {
    connection.start()
    await pass(0)
    connection.stop()
    await pass(60_000)
    expect(server.opened).toBe(1)
  })

  it('ends when the server rejects the session', async () => {
    connection.start()
    await pass(0)
    server.cut(new OncueError('UNAUTHORIZED', 'revoked'))
    await pass(60_000)
    expect([server.refused, server.opened]).toEqual([1, 1])
  })
})
