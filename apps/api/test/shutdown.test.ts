import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { prepareJob } from '@oncue/core'
import type { SlowService } from '@oncue/runtime'
import { eventually } from '@oncue/testing'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { AlertEvaluator } from '../src/alerts/evaluator.ts'
import { Audit } from '../src/audit.ts'
import { BulkRunner } from '../src/bulk/runner.ts'
import { Delivery } from '../src/delivery/delivery.ts'
import { GaugeRecorder } from '../src/health/gauge-recorder.ts'
import type { StartOptions } from '../src/index.ts'
import { Live } from '../src/live/live.ts'
import { Retention } from '../src/retention.ts'
import { ADMIN_TOKEN, DIALECTS, type Dialect } from './harness.ts'
import { startServer } from './support/index.ts'

/** What happened, in order. */
const log = vi.hoisted((): string[] => [])

vi.mock(import('@oncue/db'), async (original) => {
  const db = await original()
  const openStore: typeof db.openStore = async (...args) => {
    const store = await db.openStore(...args)
    const close = store.close.bind(store)
    store.close = () => {
      log.push('store closes')
      return close()
    }
    return store
  }
  return { ...db, openStore }
})

const PARTS: [string, SlowService][] = [
  ['audit', Audit.prototype],
  ['retention', Retention.prototype],
  ['bulk', BulkRunner.prototype],
  ['delivery', Delivery.prototype],
  ['gauges', GaugeRecorder.prototype],
  ['alerts', AlertEvaluator.prototype],
  ['streams', Live.prototype],
]
const NAMES = PARTS.map(([name]) => name)
const starts = (names: readonly string[]) => names.map((name) => `${name} starts`)
const stops = (names: readonly string[]) =>
  [...names].reverse().flatMap((name) => [`${name} stops`, `${name} stopped`])

let onStart: (name: string) => void
let onStop: (name: string) => void | Promise<void>

beforeEach(() => {
  log.length = 0
  onStart = () => {}
  onStop = () => {}
  for (const [name, prototype] of PARTS) {
    const { start, stop } = prototype
    vi.spyOn(prototype, 'start').mockImplementation(function (this: SlowService) {
      log.push(`${name} starts`)
      onStart(name)
      return start.call(this)
    })
    vi.spyOn(prototype, 'stop').mockImplementation(async function (this: SlowService) {
      log.push(`${name} stops`)
      await onStop(name)
      await stop.call(this)
      log.push(`${name} stopped`)
    })
  }
})
afterEach(() => void vi.restoreAllMocks())

async function start(dialect: Dialect, options?: StartOptions, env: Record<string, string> = {}) {
  const server = await startServer({ database: dialect, env, ...options })
  onTestFinished(() => server.close())
  return server.api
}

const connectionTo = (url: string) =>
  new Promise<'accepted' | 'refused'>((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
      resolve('accepted')
      socket.destroy()
    })
    socket.once('error', () => resolve('refused'))
  })

describe.each(DIALECTS)('the API on %s stops', (dialect) => {
  it('listening first, then streams, requests, loops, the audit, and the store last', async () => {
    const api = await start(dialect)
    expect(log).toEqual(starts(NAMES))
    const { store, control } = api.services
    const [id = ''] = await store.enqueue([prepareJob('mail', null)])
    let release = () => {}
    const { list } = control.tokens
    const listing = vi.spyOn(control.tokens, 'list').mockImplementation(async (...args) => {
      await new Promise<void>((resolve) => {
        release = resolve
      })
      log.push('request finishes')
      return list(...args)
    })
    const call = (path: string) =>
      fetch(`${api.url}/trpc/${path}`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
    const stream = await call(`jobs.watch?input=${encodeURIComponent(JSON.stringify({ json: { id } }))}`)
    const request = call('tokens.list')
    await eventually(() => expect(listing).toHaveBeenCalled())

    log.length = 0
    onStop = async (name) => {
      if (name === 'streams') log.push(`a connection is ${await connectionTo(api.url)}`)
    }
    const closed = Promise.all([api.close(), api.close()])
    expect(await stream.text()).not.toContain('event: return')
    await eventually(() => expect(log).toContain('streams stopped'))
    release()
    expect((await request).status).toBe(200)
    await closed
    await api.close()
    const loopsAndAudit = NAMES.slice(0, -1)
    expect(log).toEqual([
      'streams stops',
      'a connection is refused',
      'streams stopped',
      'request finishes',
      ...stops(loopsAndAudit),
      'store closes',
    ])
  })

  it('while starting: it stops what has started, and starts nothing more', async () => {
    const stopping = new AbortController()
    onStart = (name) => name === 'delivery' && stopping.abort(new Error('SIGTERM'))
    await expect(start(dialect, { signal: stopping.signal })).rejects.toThrow('SIGTERM')
    const started = ['audit', 'retention', 'bulk', 'delivery']
    expect(log).toEqual([...starts(started), ...stops(started), 'store closes'])
  })

  it('everything when its port is taken', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    await expect(start(dialect, {}, { ONCUE_PORT: String(port) })).rejects.toThrow('is already in use')
    expect(log).toEqual([...starts(NAMES), ...stops(NAMES), 'store closes'])
  })

  it('its loops even if they were not started', async () => {
    const api = await start(dialect, { background: false })
    await api.close()
    expect(log).toEqual([...starts(['audit', 'streams']), ...stops(NAMES), 'store closes'])
  })
})
