import { EventEmitter } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { openScreen } from '../src/screen.ts'
import { render, type Snapshot, share } from '../src/top-view.ts'
import { describeBoth, ERROR, WORKER } from './harness.ts'

// The environment of the tests may ask for colours.
vi.stubEnv('FORCE_COLOR', '0')

const NOW = new Date('2026-01-31T09:00:00Z')
const ago = (ms: number) => new Date(NOW.getTime() - ms)

const snapshot = (queues: number): Snapshot => ({
  now: NOW,
  perMinute: 1_234,
  runningTotal: 0,
  queues: Array.from({ length: queues }, (_, n) => ({
    queue: `queue-${n}`,
    waiting: n,
    scheduled: 0,
    running: 0,
    blocked: 0,
    throttled: 0,
    oldestWaiting: ago(90_000),
    paused: n === 1 ? { at: NOW, by: 'ada', until: null } : null,
    ageingMs: null,
    limit: null,
    perMinute: 60,
  })),
  workers: [
    {
      id: '3b7d4e0e-6a53-4c7f-9d39-0f6f1d1f7a01',
      host: 'web-1',
      pid: 42,
      queues: ['high', 'default'],
      concurrency: 10,
      version: '1.0.0',
      startedAt: ago(7_260_000),
      lastBeat: ago(500),
      missingSince: null,
      ended: null,
      running: 3,
    },
  ],
  lost: [],
  running: [],
  failures: [],
})

const everything = { width: Number.POSITIVE_INFINITY, height: Number.POSITIVE_INFINITY }

describe('a frame of top', () => {
  test('shows queues with their lateness, and workers with what they do', () => {
    const lines = render(snapshot(2), everything)
    expect(lines[0]).toBe('Oncue  09:00:00Z  ·  1 worker, 10 slots  ·  0 running  ·  1,234 jobs per minute')
    expect(lines).toContain('queue-1        1  1m 30s        0          0       60  paused')
    expect(lines).toContain('web-1   42  3/10  high,default  2h 1m  500ms ago')
  })

  test.each([
    { width: 80, height: 24 },
    { width: 20, height: 8 },
    { width: 1, height: 1 },
  ])('is never larger than the screen: $width × $height', ({ width, height }) => {
    const lines = render(snapshot(100), { width, height })
    expect(lines.length).toBeLessThanOrEqual(height)
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(width)
  })

  test('says how much it leaves out', () => {
    expect(render(snapshot(100), { width: 80, height: 24 })).toContainEqual(
      expect.stringMatching(/^… and \d+ more$/),
    )
  })

  test('says why it is not up to date', () => {
    expect(render(snapshot(1), everything, 'Postgres: connection refused')[1]).toBe(
      'Postgres: connection refused',
    )
  })

  test.each([
    [[1, 1, 1, 1], 100, [1, 1, 1, 1]],
    [[2, 100, 1, 100], 23, [2, 10, 1, 10]],
    [[5, 5], 3, [2, 1]],
    [[5, 5], 0, [0, 0]],
    [[5, 5], -4, [0, 0]],
  ])('gives sections that want %j of %i rows %j', (wanted, room, given) => {
    expect(share(wanted, room)).toEqual(given)
  })
})

/** A terminal that records its input and output. */
function createTerminal() {
  const modes: string[] = []
  const stdin = Object.assign(new EventEmitter(), {
    setRawMode: (raw: boolean) => {
      modes.push(raw ? 'raw' : 'cooked')
      return stdin
    },
    resume: () => stdin,
    pause: () => stdin,
  })
  const written: string[] = []
  const stdout = Object.assign(new EventEmitter(), {
    columns: 80,
    rows: 24,
    write: (text: string) => written.push(text) > 0,
  })
  return { stdin, stdout, modes, written, io: { stdin, stdout } as unknown as NodeJS.Process }
}

describe('the screen of top', () => {
  test.each(['q', '\u0003', '\u001b'])('%j restores the terminal', async (key) => {
    const { io, stdin, stdout, modes, written } = createTerminal()
    const listeners = process.listenerCount('SIGTERM')
    const screen = openScreen(io)
    screen.draw(['hello'])
    const waiting = screen.wait(600_000)
    stdin.emit('data', Buffer.from('x'))
    expect(screen.isClosed()).toBe(false)
    stdin.emit('data', Buffer.from(key))
    await waiting
    expect(screen.isClosed()).toBe(true)
    screen.draw(['too late'])
    screen.close()
    expect(modes).toEqual(['raw', 'cooked'])
    expect(written).toEqual([
      '\u001b[?1049h\u001b[?25l',
      '\u001b[Hhello\u001b[K\u001b[J',
      '\u001b[?25h\u001b[?1049l',
    ])
    expect(stdout.listenerCount('resize')).toBe(0)
    expect(process.listenerCount('SIGTERM')).toBe(listeners)
  })

  test('is drawn again when its size changes', () => {
    const { io, stdout } = createTerminal()
    const screen = openScreen(io)
    const sizes: unknown[] = []
    screen.onResize(() => sizes.push(screen.size()))
    Object.assign(stdout, { columns: 40, rows: 10 })
    stdout.emit('resize')
    screen.close()
    stdout.emit('resize')
    expect(sizes).toEqual([{ width: 40, height: 10 }])
  })
})

describeBoth('top', (bench) => {
  test('top prints one frame where there is no terminal', async () => {
    await bench.failOne()
    await bench.add('slow')
    await bench.store.claim({ queues: ['default'], limit: 1, worker: WORKER, leaseMs: 30_000 })
    expect(await bench.json(['top'])).toMatchObject({
      queues: [{ queue: 'default', running: 1, perMinute: 1 }],
      running: [{ topic: 'slow' }],
      failures: [{ retrying: 0, failed: 1, sample: { error: ERROR } }],
    })
    const stdout = await bench.text('top')
    const failures = 'Failures: retrying now, gave up in the last hour'
    for (const title of ['Queues', 'Workers', 'Running longest', failures]) {
      expect(stdout).toContain(`\n${title}\n`)
    }
    expect(stdout).not.toContain('\u001b')
  })
})
