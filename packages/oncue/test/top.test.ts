import { EventEmitter } from 'node:events'
import { stripVTControlCharacters } from 'node:util'
import type { FailureGroup } from '@oncue/db'
import { eventually } from '@oncue/testing'
import { describe, expect, test, vi } from 'vitest'
import { openScreen } from '../src/screen.ts'
import { live } from '../src/top.ts'
import { askToRetry, type Pressed, press, START, type TopState } from '../src/top-keys.ts'
import { queuesOf, render, type Snapshot, share } from '../src/top-view.ts'
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
    suspended: 0,
    blocked: 0,
    throttled: 0,
    oldestWaiting: ago(90_000),
    paused: n === 1 ? { at: NOW, by: 'ada', until: null } : null,
    ageingMs: null,
    limit: null,
    perMinute: 60,
    failedPerMinute: n === 1 ? 12 : 0,
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

const SMALL = { width: 80, height: 24 }
const everything = { width: Number.POSITIVE_INFINITY, height: Number.POSITIVE_INFINITY }

describe('a frame of top', () => {
  test('shows queues with their lateness, and workers with what they do', () => {
    const lines = render(snapshot(2), everything)
    expect(lines[0]).toBe('Oncue  09:00:00Z  ·  1 worker, 10 slots  ·  0 running  ·  1,234 jobs per minute')
    expect(lines).toContain('queue-1        1  1m 30s        0          0        60          12  paused')
    expect(lines).toContain('web-1   42  3/10  high,default  2h 1m  500ms ago')
  })

  test.each([
    { width: 80, height: 24 },
    { width: 20, height: 8 },
    { width: 1, height: 1 },
  ])('is never larger than the screen: $width × $height', ({ width, height }) => {
    for (const state of [null, START, { ...START, isHelp: true }, { ...START, queue: 'queue-1' }]) {
      const lines = render(snapshot(100), { width, height }, { state })
      expect(lines.length).toBeLessThanOrEqual(height)
      for (const line of lines) expect([...line].length).toBeLessThanOrEqual(width)
    }
  })

  test('fits 80 columns: its help is whole, and ids are short', () => {
    const help = render(snapshot(1), SMALL, { state: { ...START, isHelp: true } })
    expect(help.filter((line) => line.endsWith('…'))).toEqual([])
    expect(help).toContainEqual(
      expect.stringMatching(/^Actions use this database login and are recorded as \S+@\S+\.$/),
    )
    const job = {
      id: '01900000-0000-7000-8000-00001a2b3c4d',
      topic: 'mail',
      queue: 'default',
      retries: 1,
      crashes: 0,
    }
    const running = [{ ...job, startedAt: ago(2_000), progress: null }] as unknown as Snapshot['running']
    const lines = render({ ...snapshot(1), running }, SMALL)
    expect(lines).toContainEqual(expect.stringMatching(/^ID +TOPIC +QUEUE +FOR +RUN +PROGRESS$/))
    expect(lines).toContainEqual(expect.stringMatching(/^…1a2b3c4d +mail +default +2\.0s +2$/))
    expect(lines).toContainEqual(expect.stringMatching(/ DONE\/MIN {2}FAILED\/MIN$/))
  })

  test('counts suspended jobs apart where there are some, and names jobs that are undone', () => {
    const { queues, ...others } = snapshot(2)
    const suspended = queues.map((row) => ({ ...row, scheduled: 1, suspended: 12 }))
    const failures = [GROUP, { ...GROUP, retrying: 0, undoing: 1 }]
    const lines = render({ ...others, queues: suspended, failures }, everything)
    expect(lines).toContainEqual(expect.stringMatching(/ SCHEDULED {2}SUSPENDED {2}DONE\/MIN /))
    expect(lines).toContainEqual(expect.stringMatching(/^queue-0 .* 1 +12 +60 /))
    expect(lines).toContainEqual(expect.stringMatching(/^ *24 +3 /))
    expect(lines).toContainEqual(expect.stringMatching(/^1 undoing +3 /))
    expect(render(snapshot(2), everything).join()).not.toContain('SUSPENDED')
  })

  test('says how much it leaves out', () => {
    expect(render(snapshot(100), { width: 80, height: 24 })).toContainEqual(
      expect.stringMatching(/^… and \d+ more$/),
    )
  })

  test('says why it is not as new as it should be', () => {
    expect(render(snapshot(1), everything, { problem: 'Postgres: connection refused' })[1]).toBe(
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

const GROUP: FailureGroup = {
  fingerprint: 'f00d',
  class: 'GatewayTimeoutError',
  message: 'no answer',
  retrying: 24,
  undoing: 0,
  retryingIsExact: true,
  failed: 3,
  nextTryAt: new Date(NOW.getTime() + 40_000),
  firstSeen: ago(60_000),
  lastSeen: ago(2_000),
  isNew: true,
  topics: ['charge_card'],
  queues: ['payments'],
  trend: [],
  sample: { jobId: '01900000-0000-7000-8000-000000000001', error: ERROR },
}

describe('a chosen row of top', () => {
  const shown = { ...snapshot(100), failures: [GROUP] }
  const choose = (queue: string): TopState => ({ ...START, chosen: { kind: 'queue', queue } })

  test('is marked without colours, and in sight however far down it is', () => {
    const lines = render(shown, SMALL, { state: choose('queue-3') })
    expect(lines).toContainEqual(expect.stringMatching(/^> queue-3 /))
    expect(lines.filter((line) => line.startsWith('>'))).toHaveLength(1)
  })

  test('shows errors from the first failing run, and the keys at the foot', () => {
    const state: TopState = { ...START, chosen: { kind: 'failure', fingerprint: 'f00d' } }
    const lines = render(shown, SMALL, { state })
    expect(lines).toContainEqual(
      expect.stringMatching(/^> {7}24 {8}3 {4}in 40s {2}2\.0s ago {2}charge_card {2}GatewayTimeoutError: no/),
    )
    expect(lines.at(-1)).toBe(
      'q quit  ? help  up/down choose  enter queue  p pause  r retry  s sort: busiest',
    )
    expect(render(shown, { width: 30, height: 10 }, { state }).at(-1)).toBe('q quit  ? help  up/down choose')
  })

  test.each([
    ['busiest', ['queue-3', 'queue-2', 'queue-1', 'queue-0']],
    ['name', ['queue-0', 'queue-1', 'queue-2', 'queue-3']],
    ['failing', ['queue-1', 'queue-0', 'queue-2', 'queue-3']],
  ] as const)('queues are sorted: %s', (sort, queues) => {
    expect(queuesOf(snapshot(4), { ...START, sort }).map(({ queue }) => queue)).toEqual(queues)
  })
})

describe('the keys of top', () => {
  const shown = { queues: snapshot(2).queues, failures: [GROUP] }
  const type = (keys: readonly string[], state = START) =>
    keys.reduce<Pressed>((pressed, key) => press(pressed.state, key, shown), { state })

  test('choose queues, then errors, and stay at the ends', () => {
    expect(type(['j']).state.chosen).toEqual({ kind: 'queue', queue: 'queue-0' })
    expect(type(['\x1b[B', '\x1b[B', 'j', 'j']).state.chosen).toEqual({
      kind: 'failure',
      fingerprint: 'f00d',
    })
    expect(type(['j', 'j', 'j', 'k', '\x1b[A', 'k', 'k']).state.chosen).toEqual({
      kind: 'queue',
      queue: 'queue-0',
    })
  })

  test('sort, show one queue, and all again', () => {
    expect(type(['s']).state.sort).toBe('oldest')
    expect(type(['s', 's', 's', 's']).state.sort).toBe('busiest')
    const drilled = type(['j', '\r'])
    expect(drilled).toMatchObject({ state: { queue: 'queue-0' }, effect: { kind: 'look' } })
    expect(press(drilled.state, '\x1b', shown)).toMatchObject({
      state: { queue: null },
      effect: { kind: 'look' },
    })
    expect(type(['\r']).state.message).toBe('choose a queue first: up, down')
  })

  test('help is left by any key, and quits by none but ctrl-c', () => {
    expect(type(['?']).state.isHelp).toBe(true)
    expect(type(['?', 'q'])).toEqual({ state: START })
    expect(type(['?', '\x03']).effect).toEqual({ kind: 'quit' })
    for (const key of ['q', '\x1b', '\x03']) expect(type([key]).effect).toEqual({ kind: 'quit' })
  })

  test('pause asks first, and only y does it', () => {
    const asked = type(['j', 'p'])
    expect(asked.effect).toBeUndefined()
    expect(asked.state.question?.text).toBe('Pause queue-0? Running jobs finish; no new ones start.')
    expect(press(asked.state, 'y', shown).effect).toEqual({
      kind: 'act',
      action: { kind: 'pause', queue: 'queue-0' },
    })
    for (const key of ['n', 'q', '\x1b', '\r'])
      expect(press(asked.state, key, shown)).toEqual({
        state: { ...asked.state, question: null, message: 'nothing was changed' },
      })
    expect(type(['j', 'j', 'p']).state.question?.text).toBe('Resume queue-1?')
    expect(type(['p']).state.message).toBe('choose a queue first: up, down')
  })

  test('retry counts first, and asks with the numbers', () => {
    const action = { kind: 'retry', fingerprint: 'f00d', queue: null } as const
    const { state, effect } = type(['k', 'r'])
    expect(effect).toEqual({ kind: 'prepare', action })
    const exactly = (total: number) => ({ total, totalIsExact: true })
    expect(askToRetry(state, action, exactly(2_105), { total: 40, totalIsExact: false }).question?.text).toBe(
      'Run 2,105 jobs now instead of at the next try, and requeue at least 40 jobs that gave up?',
    )
    expect(askToRetry(state, action, exactly(0), exactly(1)).question?.text).toBe(
      'Requeue 1 job that gave up?',
    )
    expect(askToRetry(state, action, exactly(0), exactly(0)).message).toBe(
      'no job with this error can be run now or requeued',
    )
    expect(type(['j', 'r']).state.message).toBe('choose an error first: up, down')
  })
})

/** A terminal that remembers. */
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
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s gives the terminal back as it was', (signal) => {
    const { io, modes, written } = createTerminal()
    const before = process.listeners(signal)
    const screen = openScreen(io)
    // As Node does it: another listener may be the test runner's.
    for (const listener of process.listeners(signal)) if (!before.includes(listener)) listener(signal)
    expect(screen.isClosed()).toBe(true)
    expect(modes).toEqual(['raw', 'cooked'])
    expect(written.at(-1)).toBe('\u001b[?25h\u001b[?1049l')
    expect(process.listeners(signal)).toEqual(before)
  })

  test('tells keys apart that arrive at once', () => {
    const { io, stdin } = createTerminal()
    const screen = openScreen(io)
    const keys: string[] = []
    screen.onKey((key) => keys.push(key) > 0)
    stdin.emit('data', Buffer.from('j\u001b[A\u001b[Bk\u001b'))
    screen.close()
    expect(keys).toEqual(['j', '\u001b[A', '\u001b[B', 'k', '\u001b'])
  })

  test.each(['q', '\u0003', '\u001b'])('%j gives the terminal back as it was', async (key) => {
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

/** Without the sequences that move the cursor. */
const lastOf = (written: readonly string[]) =>
  stripVTControlCharacters(written.findLast((text) => text.includes('Queues')) ?? '')

describeBoth('top', (bench) => {
  test('top pauses a queue and retries an error by keys, each after a question', async () => {
    const [retrying] = [await bench.add('charge_card'), await bench.add('other', { queue: 'later' })]
    const claim = { queues: ['default'], limit: 1, worker: WORKER, leaseMs: 30_000 }
    const { jobs } = await bench.store.claim(claim)
    const delayMs = 3_600_000
    await bench.store.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'retry', error: ERROR, delayMs })))
    const gaveUp = await bench.failOne()

    const { io, stdin, written } = createTerminal()
    const screen = openScreen(io)
    const ended = live(bench.store, screen)
    const says = (text: RegExp) => eventually(() => expect(lastOf(written)).toMatch(text))
    const type = (text: string) => stdin.emit('data', Buffer.from(text))
    await says(/ 1 {8}1 +in 59m.* TypeError: /)
    type('jp')
    await says(/Pause later\? Running jobs finish; no new ones start\. y\/n$/)
    type('y')
    await says(/later is paused$/)
    expect((await bench.store.queues()).find(({ queue }) => queue === 'later')?.paused).not.toBeNull()

    type('\u001b[B\u001b[Br')
    await says(/Run 1 job now instead of at the next try, and requeue 1 job that gave up\? y\/n$/)
    type('n')
    await says(/nothing was changed$/)
    expect(await bench.store.get(gaveUp)).toMatchObject({ status: 'failed' })
    type('r')
    await says(/gave up\? y\/n$/)
    type('y')
    await says(/1 job set to run now, 1 requeued, 0 skipped$/)
    const due = await bench.store.claim({ ...claim, limit: 2 })
    expect(due.jobs.map(({ id }) => id).sort()).toEqual([retrying, gaveUp].sort())

    type('q')
    await ended
    expect(screen.isClosed()).toBe(true)
  })

  test('top takes one picture where there is no terminal', async () => {
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
