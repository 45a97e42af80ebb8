import { describe, expect, test } from 'vitest'
import { abortable, type Service, type SlowService, startAll, together, toService } from './service.ts'
import { simulate } from './simulation.ts'

const recorded = (name: string, log: string[], error?: Error): Service => ({
  start: () => void log.push(`start ${name}`),
  async stop() {
    log.push(`stop ${name}`)
    if (error) throw error
  },
})

test('services start in order and stop in reverse', async () => {
  const log: string[] = []
  const all = together([recorded('a', log), recorded('b', log)])
  all.start()
  await all.stop()
  expect(log).toEqual(['start a', 'start b', 'stop b', 'stop a'])
})

test('a service that fails to stop does not keep the others running', async () => {
  const log: string[] = []
  const all = together([recorded('a', log), recorded('b', log, new Error('stuck'))])
  await expect(all.stop()).rejects.toThrow('stuck')
  expect(log).toEqual(['stop b', 'stop a'])
})

describe('startAll', () => {
  const IN_ORDER = 'a starts, a runs, b starts, b runs, b stops, b stopped, a stops, a stopped'.split(', ')

  /** Takes one turn to start and one to stop, and records the beginning and the end of each. */
  const slow = (name: string, log: string[], atStart = () => {}): SlowService => ({
    async start() {
      log.push(`${name} starts`)
      await Promise.resolve()
      atStart()
      log.push(`${name} runs`)
    },
    async stop() {
      log.push(`${name} stops`)
      await Promise.resolve()
      log.push(`${name} stopped`)
    },
  })

  test('starts one after the other, and stops them in the reverse order, once', async () => {
    const log: string[] = []
    const stop = await startAll([slow('a', log), slow('b', log)])
    await Promise.all([stop(), stop()])
    await stop()
    expect(log).toEqual(IN_ORDER)
  })

  test('stops those that have started when one fails to start, and starts no more', async () => {
    const log: string[] = []
    const fail = () => {
      throw new Error('the port is taken')
    }
    const services = [recorded('a', log, new Error('stuck')), slow('b', log, fail), slow('c', log)]
    await expect(startAll(services)).rejects.toThrow('the port is taken')
    expect(log).toEqual(['start a', 'b starts', 'b stops', 'b stopped', 'stop a'])
  })

  test('stops those that have started when its signal is aborted in between', async () => {
    const log: string[] = []
    const stopping = new AbortController()
    const abort = () => stopping.abort(new Error('SIGTERM'))
    const services = [slow('a', log), slow('b', log, abort), slow('c', log)]
    await expect(startAll(services, stopping.signal)).rejects.toThrow('SIGTERM')
    expect(log).toEqual(IN_ORDER)
  })

  test('does not wait for a start in progress when its signal is aborted, but stops it, too', async () => {
    const log: string[] = []
    const stopping = new AbortController()
    const start = () => {
      stopping.abort(new Error('SIGTERM'))
      return new Promise<void>(() => {})
    }
    const services = [recorded('a', log), { ...recorded('b', log), start }, recorded('c', log)]
    await expect(startAll(services, stopping.signal)).rejects.toThrow('SIGTERM')
    expect(log).toEqual(['start a', 'stop b', 'stop a'])
  })
})

describe('toService', () => {
  const opened = (log: string[], until: Promise<unknown> = Promise.resolve()) =>
    toService(async () => {
      await until
      log.push('opened')
      return async () => log.push('closed')
    }, 1_000)

  test('opens on start and closes on stop', async () => {
    const log: string[] = []
    const service = opened(log)
    await service.start()
    await service.stop()
    expect(log).toEqual(['opened', 'closed'])
  })

  test('closes as soon as it is open, if it is stopped meanwhile', async () => {
    const log: string[] = []
    const service = opened(log)
    await Promise.all([service.start(), service.stop()])
    expect(log).toEqual(['opened', 'closed'])
  })

  test('does not wait longer than its limit for an open in progress', async () => {
    const runtime = simulate()
    const service = toService(() => new Promise(() => {}), 1_000, runtime)
    void service.start()
    const stopped = service.stop()
    await runtime.advance(1_000)
    await stopped
  })

  test('has nothing to close if it could not be opened, or never was', async () => {
    const service = opened([], Promise.reject(new Error('no')))
    await service.stop()
    await expect(service.start()).rejects.toThrow('no')
    await service.stop()
  })
})

describe('abortable work', () => {
  const reason = new Error('asked to stop')
  const untilAborted = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut short'))))

  test('is aborted by the signal, and fails with its reason', async () => {
    const stopping = new AbortController()
    const work = abortable(stopping.signal, untilAborted)
    stopping.abort(reason)
    await expect(work).rejects.toBe(reason)
    await expect(abortable(stopping.signal, async (signal) => signal.throwIfAborted())).rejects.toBe(reason)
  })

  test('fails with its own error while the signal is not aborted', async () => {
    const failed = abortable(new AbortController().signal, () => Promise.reject(new Error('no')))
    await expect(failed).rejects.toThrow('no')
  })

  test('is not affected after it has started when the signal comes later', async () => {
    const stopping = new AbortController()
    const started = await abortable(stopping.signal, async (signal) => signal)
    stopping.abort(reason)
    expect(started.aborted).toBe(false)
  })
})
