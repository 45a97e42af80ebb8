import {
  defineJobs,
  defineWorkers,
  type Handlers,
  isOncueError,
  type JobContext,
  job,
  prepareJob,
  type RunningJob,
  StepError,
} from '@oncue/core'
import type { JobDetails, Store } from '@oncue/db'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import type { Middleware } from '../src/index.ts'
import type { ExecutorOptions } from '../src/run/executor.ts'
import { Execution, START } from './execution.ts'
import { type Bench, describeBoth, Gate, nap as pause, until } from './harness.ts'

const jobs = defineJobs({
  order: job({
    input: z.unknown(),
    signals: { bank: z.object({ ok: z.boolean() }), stop: z.null() },
    retry: { max: 2, strategy: 'fixed', baseDelay: 0 },
  }),
})
type Handle = NonNullable<Handlers<typeof jobs>['order']>

const HOUR = 3_600_000

/** No time passes within a run, however slow the machine is: a delay counts from the call to the suspension. */
const STANDING: Runtime = { ...systemRuntime, monotonic: () => 0 }

/** One job, run by run, on a clock that the test moves. */
class Life {
  readonly execution: Execution
  readonly #clock: { ms: number }
  id = ''

  private constructor(execution: Execution, clock: { ms: number }) {
    this.execution = execution
    this.#clock = clock
  }

  static async on(bench: Bench, order: Handle, options: Partial<ExecutorOptions> = {}): Promise<Life> {
    const clock = { ms: START }
    const store = await bench.open({ clock: () => new Date(clock.ms) })
    const workers = defineWorkers(jobs, { order })
    return new Life(Execution.with(store, workers, { runtime: STANDING, ...options }), clock)
  }

  get store(): Store {
    return this.execution.store
  }

  async begin(): Promise<JobDetails> {
    const done = await this.execution.run('order')
    this.id = done.id
    return done
  }

  /** The next run, after so long. */
  async goOn(ms = 0): Promise<JobDetails> {
    this.#clock.ms += ms
    return this.execution.settled(await this.execution.startNext('order'))
  }

  signal(name: string, data: unknown): Promise<void> {
    return this.store.durable.signal({ id: this.id, name, data: JSON.stringify(data) })
  }
}

const logged = ({ events }: JobDetails) =>
  events.flatMap(({ type, data }) => (type === 'log' ? [(data as { message: string }).message] : []))

describeBoth('ctx.sleep', (bench) => {
  it('leaves the worker, and goes on where it was when the time is over', async () => {
    const done: string[] = []
    const life = await Life.on(bench, async (_job, { step, sleep }) => {
      await step('charge', () => done.push('charged'))
      await sleep('settle', '1h')
      await step('mail', () => done.push('mailed'))
      return null
    })
    expect(await life.begin()).toMatchObject({
      status: 'pending',
      runAt: new Date(START + HOUR),
      waits: { for: [{ kind: 'timer', name: 'settle', until: new Date(START + HOUR).toISOString() }] },
    })
    expect(done).toEqual(['charged'])
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed', run: 2, retries: 0 })
    expect(done).toEqual(['charged', 'mailed'])
  })

  it('keeps its end, however often the job is resumed before', async () => {
    const life = await Life.on(bench, async (_job, { sleep, receive }) => {
      const nap = sleep('nap', '1h').then(() => 'rested')
      const first = await Promise.race([nap, receive('bank').then(() => 'paid')])
      return [first, await nap]
    })
    const { runAt } = await life.begin()
    await life.signal('bank', { ok: true })
    expect(await life.goOn(HOUR / 2)).toMatchObject({ runAt })
    expect(await life.goOn(HOUR / 2)).toMatchObject({ status: 'completed', result: ['paid', 'rested'] })
  })

  it('until a moment, also one that has passed', async () => {
    const life = await Life.on(bench, async (_job, { sleep }) => {
      await sleep('past', new Date(START - HOUR))
      await sleep('later', new Date(START + HOUR))
    })
    expect(await life.begin()).toMatchObject({ runAt: new Date(START + HOUR) })
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed', run: 2 })
  })

  it('of less than a second stays in the worker', async () => {
    const life = await Life.on(bench, async (_job, { sleep }) => {
      await sleep('a', 5)
      await sleep('b', '5ms')
    })
    expect(await life.begin()).toMatchObject({ status: 'completed', run: 1 })
  })

  it.each<[unknown, string]>([
    ['soon', 'INVALID_INPUT'],
    [-1, 'INVALID_INPUT'],
    [Number.NaN, 'INVALID_INPUT'],
    [new Date(Number.NaN), 'INVALID_DATE'],
  ])('refuses %s', async (until, code) => {
    const life = await Life.on(bench, (_job, { sleep }) => sleep('a', until as number))
    expect(await life.begin()).toMatchObject({ lastError: { code } })
  })

  it('refuses a name twice in one run', async () => {
    const life = await Life.on(bench, async (_job, { sleep }) => {
      await sleep('a', 1)
      await sleep('a', 1)
    })
    expect(await life.begin()).toMatchObject({ lastError: { code: 'DUPLICATE_STEP' } })
  })
})

describeBoth('ctx.receive', (bench) => {
  const receiveOne: Handle = (_job, { receive }) => receive('bank', { timeout: '1h' })

  it('gets a signal that is sent while the job is suspended', async () => {
    const life = await Life.on(bench, receiveOne)
    expect(await life.begin()).toMatchObject({ waits: { for: [{ kind: 'signal', name: 'bank' }] } })
    await life.signal('bank', { ok: true })
    expect(await life.goOn()).toMatchObject({ result: { timedOut: false, value: { ok: true } } })
  })

  it('gets signals that were sent before its first run, in their order', async () => {
    const life = await Life.on(bench, async (_job, { receive }) => {
      const first = await receive('bank')
      const second = await receive('bank')
      return [first.value?.ok, second.value?.ok]
    })
    const { store } = life
    const [id = ''] = await store.enqueue([aNewOrder()])
    for (const ok of [false, true]) {
      await store.durable.signal({ id, name: 'bank', data: JSON.stringify({ ok }) })
    }
    expect(await life.goOn()).toMatchObject({ status: 'completed', run: 1, result: [false, true] })
  })

  it('ends without a signal at its timeout, also in later runs', async () => {
    const life = await Life.on(bench, async (_job, { receive, sleep }) => {
      const first = await receive('bank', { timeout: '1h' })
      await sleep('a', '1h')
      const second = await receive('bank', { timeout: '1h' })
      return [first.timedOut, second.timedOut]
    })
    await life.begin()
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'pending' })
    await life.signal('bank', { ok: true })
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed', result: [true, false] })
  })

  it('prefers a signal that was delivered to a timeout that was not recorded', async () => {
    const life = await Life.on(bench, receiveOne)
    await life.begin()
    await life.signal('bank', { ok: true })
    expect(await life.goOn(2 * HOUR)).toMatchObject({ result: { timedOut: false } })
  })

  it('called again while it is open is the same wait, so that the loser of a race takes nothing', async () => {
    const life = await Life.on(bench, async (_job, { receive, sleep }) => {
      await Promise.race([receive('bank'), sleep('a', '1h')])
      const { value } = await receive('bank')
      return value
    })
    await life.begin()
    await life.goOn(HOUR)
    await life.signal('bank', { ok: true })
    expect(await life.goOn()).toMatchObject({ status: 'completed', result: { ok: true } })
  })

  it('is delivered within a second while the run does something else', async () => {
    const began = new Gate()
    const never = new Gate()
    const life = await Life.on(bench, (_job, { receive, step }) => {
      const work = step('work', async () => {
        began.open()
        await never.opened
      })
      work.catch(() => {})
      return Promise.race([receive('stop').then(() => 'stopped'), work])
    })
    const run = await life.execution.start('order')
    await began.opened
    await life.store.durable.signal({ id: run.job.id, name: 'stop', data: 'null' })
    expect(await life.execution.settled(run)).toMatchObject({ status: 'completed', result: 'stopped' })
    never.open()
  })

  it('refuses a signal that its topic does not name, and data that does not fit', async () => {
    const unknown = await Life.on(bench, (_job, { receive }) => receive('visa' as 'bank'))
    expect(await unknown.begin()).toMatchObject({
      lastError: { code: 'UNKNOWN_SIGNAL', message: 'order has no signal "visa": it has "bank", "stop"' },
    })
    const life = await Life.on(bench, receiveOne)
    await life.begin()
    await life.signal('bank', { ok: 'yes' })
    expect(await life.goOn()).toMatchObject({ lastError: { code: 'INVALID_SIGNAL' } })
  })
})

const aNewOrder = () => prepareJob('order', {})

describeBoth('a run that is repeated', (bench) => {
  it('gets its outcomes in the order in which they were recorded', async () => {
    const orders: string[][] = []
    const slow = new Gate()
    const life = await Life.on(bench, async (_job, { step, sleep }) => {
      const order: string[] = []
      orders.push(order)
      const a = step('a', () => slow.opened).then(() => order.push('a'))
      const b = step('b', () => 1).then(async () => {
        order.push('b')
        slow.open()
        await step('c', () => 1)
        order.push('c')
      })
      await Promise.all([a, b])
      await sleep('x', '1h')
    })
    await life.begin()
    await life.goOn(HOUR)
    expect(orders).toHaveLength(2)
    expect(orders[0]?.[0]).toBe('b')
    expect(orders[1]).toEqual(orders[0])
  })

  it('replays a race as it went', async () => {
    const winners: string[] = []
    const life = await Life.on(bench, async (_job, { sleep, receive }) => {
      const timer = sleep('a', '1h').then(() => 'timer')
      const signal = receive('bank').then(() => 'signal')
      winners.push(await Promise.race([timer, signal]))
      await Promise.all([timer, signal])
      await sleep('b', '1h')
    })
    await life.begin()
    await life.signal('bank', { ok: true })
    await life.goOn(1)
    await life.goOn(HOUR)
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed' })
    expect(winners).toEqual(['signal', 'signal', 'signal'])
  })

  it('replays a race as it went, also if its handler does other things between two calls', async () => {
    const winners: string[] = []
    const life = await Life.on(bench, async (_job, { step, sleep, enqueue }) => {
      const chain = async () => {
        await step('a', () => 1)
        await enqueue('order', {}, { queue: 'other' })
        await step('c', () => 1)
        return 'chain'
      }
      const deadline = sleep('b', '1h').then(() => 'deadline')
      winners.push(await Promise.race([chain(), deadline]))
      await sleep('x', '1h')
      await sleep('y', '1h')
    })
    await life.begin()
    await life.goOn(HOUR)
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed' })
    expect(winners).toEqual(['chain', 'chain', 'chain'])
  })

  it('does not wait for ever for a call that its code no longer makes', async () => {
    let runs = 0
    const life = await Life.on(bench, async (_job, { step, sleep }) => {
      runs += 1
      if (runs === 1) await step('gone', () => 1)
      const kept = await step('kept', () => 1)
      await sleep('a', '1h')
      return [kept, await step('new', () => 2)]
    })
    await life.begin()
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed', result: [1, 2] })
  })

  it('gets the result of a step that had paused without waiting for its pauses', async () => {
    let calls = 0
    const delays: number[] = []
    const after: Runtime['after'] = (ms, work) => {
      delays.push(ms)
      return systemRuntime.after(ms, work)
    }
    const handle: Handle = async (_job, { step, sleep }) => {
      const work = () => {
        calls += 1
        if (calls === 1) throw new Error('no')
        return calls
      }
      const made = await step('a', work, { retry: { strategy: 'fixed', baseDelay: HOUR } })
      await sleep('b', '1h')
      return made
    }
    const life = await Life.on(bench, handle, { runtime: { ...STANDING, after } })
    await life.begin()
    await life.goOn(HOUR)
    delays.length = 0
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed', result: 2 })
    expect(delays).not.toContain(1_000)
  })

  it('tells why each attempt of a step failed, as soon as another is to follow', async () => {
    let failures = 2
    const life = await Life.on(bench, async (_job, { step }) => {
      const work = () => {
        failures -= 1
        if (failures >= 0) throw Object.assign(new TypeError(`no route ${failures}`), { code: 'ENOROUTE' })
      }
      await step('charge', work, { retry: { max: 2, strategy: 'fixed', baseDelay: HOUR } })
    })
    await life.begin()
    const told = ({ events }: JobDetails) =>
      events.flatMap(({ type, data }) => (type === 'step_retried' ? [data] : []))
    const attempt = (n: number) => ({
      name: 'charge',
      attempt: n,
      error: { class: 'TypeError', message: `no route ${2 - n}`, code: 'ENOROUTE' },
    })
    expect(told((await life.store.get(life.id)) ?? expect.unreachable())).toEqual([attempt(1)])
    expect(told(await life.goOn(HOUR))).toEqual([attempt(1), attempt(2)])
    const done = await life.goOn(HOUR)
    expect(done.status).toBe('completed')
    expect(told(done)).toEqual([attempt(1), attempt(2)])
  })

  it('is a failing job while a step of it waits for its next attempt, uncharged', async () => {
    let failures = 2
    const life = await Life.on(bench, async (_job, { step, sleep }) => {
      const work = () => {
        failures -= 1
        if (failures >= 0) throw Object.assign(new TypeError('no route'), { code: 'ENOROUTE' })
      }
      await step('charge', work, { retry: { max: 2, strategy: 'fixed', baseDelay: HOUR } })
      await sleep('settle', '1h')
    })
    const lastError = { class: 'TypeError', message: 'no route', code: 'ENOROUTE' }
    const first = await life.begin()
    expect(first).toMatchObject({ retries: 0, waits: { for: [{ kind: 'retry' }] }, lastError })
    const { fingerprint } = first.lastError ?? expect.unreachable()
    const group = { fingerprint, retrying: 1, failed: 0, firstSeen: new Date(START) }
    expect(await life.store.failures()).toMatchObject([{ ...group, nextTryAt: new Date(START + HOUR) }])
    expect(await life.goOn(HOUR)).toMatchObject({ retries: 0, lastError })
    expect(await life.store.failures()).toMatchObject([{ ...group, nextTryAt: new Date(START + 2 * HOUR) }])
    expect((await life.store.list({ fingerprint })).items).toMatchObject([{ id: life.id }])
    expect(await life.goOn(HOUR)).toMatchObject({ waits: { for: [{ kind: 'timer' }] } })
    expect(await life.store.failures()).toEqual([])
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed', retries: 0 })
  })

  it('has the error of the step that failed last, and keeps it in a run that something else resumed', async () => {
    const life = await Life.on(bench, async (_job, { step, receive }) => {
      const retry = { max: 2, strategy: 'fixed', baseDelay: HOUR } as const
      const failing = (name: string) => step(name, () => Promise.reject(new Error(`no ${name}`)), { retry })
      const a = failing('a').catch(String)
      const b = failing('b').catch(String)
      await receive('bank')
      return Promise.all([a, b])
    })
    const lastError = { message: 'no b' }
    expect(await life.begin()).toMatchObject({ status: 'pending', lastError })
    await life.signal('bank', { ok: true })
    expect(await life.goOn()).toMatchObject({ runAt: new Date(START + HOUR), run: 2, lastError })
    expect(await life.store.failures()).toMatchObject([{ retrying: 1, nextTryAt: new Date(START + HOUR) }])
  })

  it('does not write again what it wrote, until it comes to something new', async () => {
    const life = await Life.on(bench, async (_job, { log, emit, progress, checkpoint, step, sleep }) => {
      log.info('begins')
      progress(0.1)
      await emit('began')
      await step('a', () => 1)
      await checkpoint('after a')
      await sleep('x', '1h')
      log.info('rested')
      await step('b', () => 1)
      log.info('ends')
    })
    await life.begin()
    const done = await life.goOn(HOUR)
    expect(logged(done)).toEqual(['begins', 'rested', 'ends'])
    expect(done.events.filter(({ type }) => type === 'began')).toHaveLength(1)
    expect(life.execution.log.of('info')).toEqual(['begins', 'rested', 'ends'])
  })

  it('writes nothing at all if it comes to nothing new', async () => {
    const life = await Life.on(bench, async (_job, { log, emit, progress, checkpoint, receive }) => {
      log.info('begins')
      progress(0.1)
      await emit('began')
      await checkpoint('began')
      await receive('stop')
      await receive('bank')
    })
    await life.begin()
    await life.signal('stop', null)
    const record = vi.spyOn(life.store, 'recordProgress')
    expect(await life.goOn()).toMatchObject({ run: 2, progress: 0.1, cursor: 'began', waits: { for: [{}] } })
    expect(record).not.toHaveBeenCalled()
  })

  it('after a failure writes everything again: people look at the second attempt', async () => {
    let attempts = 0
    const life = await Life.on(bench, async (_job, { log, step }) => {
      log.info('begins')
      await step('a', () => 1)
      if (++attempts === 1) throw new Error('no')
    })
    await life.begin()
    expect(logged(await life.goOn())).toEqual(['begins', 'begins'])
  })

  it('gets a StepError for a failure that its handler survived, and repeats one that it did not', async () => {
    const seen: unknown[] = []
    let calls = 0
    const life = await Life.on(bench, async (_job, { step, sleep }) => {
      const fails = () => {
        calls += 1
        throw new RangeError('no such account')
      }
      await step('charge', fails).catch((error) => seen.push(error))
      await sleep('a', '1h')
    })
    await life.begin()
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed' })
    expect(calls).toBe(1)
    expect(seen[0]).toBeInstanceOf(RangeError)
    expect(seen[1]).toBeInstanceOf(StepError)
    expect(seen[1]).toMatchObject({
      message: 'no such account',
      step: 'charge',
      error: { class: 'RangeError' },
    })

    let failures = 0
    const failing = await Life.on(bench, (_job, { step }) =>
      step('charge', () => {
        failures += 1
        if (failures < 3) throw new Error('no')
        return 'charged'
      }),
    )
    await failing.begin()
    await failing.goOn()
    expect(await failing.goOn()).toMatchObject({ status: 'completed', result: 'charged' })
  })

  it('gets a failure after the results that were on their way before it', async () => {
    const orders: string[][] = []
    const life = await Life.on(bench, async (_job, { step, sleep }) => {
      const order: string[] = []
      orders.push(order)
      const isMade = new Gate()
      const good = step('good', () => isMade.open()).then(() => order.push('good'))
      const bad = step('bad', async () => {
        await isMade.opened
        throw new Error('no')
      }).catch(() => order.push('bad'))
      await Promise.all([good, bad])
      await sleep('a', '1h')
    })
    await life.begin()
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed' })
    expect(orders[1]).toEqual(orders[0])
  })

  it('runs a step again that failed beside others, if its handler did not survive it', async () => {
    const calls: string[] = []
    const life = await Life.on(bench, (_job, { step }) => {
      const isMade = new Gate()
      const good = step('good', () => {
        calls.push('good')
        isMade.open()
      })
      const bad = step('bad', async () => {
        calls.push('bad')
        if (calls.length > 2) return
        await isMade.opened
        throw new Error('no')
      })
      return Promise.all([good, bad])
    })
    expect(await life.begin()).toMatchObject({ status: 'pending', retries: 1 })
    expect(await life.goOn()).toMatchObject({ status: 'completed' })
    expect(calls).toEqual(['good', 'bad', 'bad'])
  })

  it('starts its retries anew after each suspension that recorded something', async () => {
    let runs = 0
    const life = await Life.on(bench, async (_job, { sleep }) => {
      runs += 1
      if (runs === 1) throw new Error('no')
      await sleep('a', '1h')
    })
    expect(await life.begin()).toMatchObject({ retries: 1 })
    expect(await life.goOn()).toMatchObject({ retries: 1 })
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed', retries: 1 })
  })
})

describeBoth('a resume', (bench) => {
  it('is no retry: a job that is never retried is resumed as often as it waits', async () => {
    const life = await Life.on(bench, async (_job, ctx) => {
      for (const name of ['a', 'b', 'c']) await ctx.sleep(name, '1h')
      return ctx.attempt
    })
    const done = await life.execution.run('order', {}, { retry: false })
    expect(done).toMatchObject({ maxRetries: 0, waits: { for: [{ name: 'a' }] } })
    await life.goOn(HOUR)
    await life.goOn(HOUR)
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed', run: 4, retries: 0, result: 1 })
  })
})

describeBoth('what is recorded', (bench) => {
  it('by many runs at once shares a call, and so do the spawns of a turn', async () => {
    const all = new Gate()
    let arrived = 0
    const life = await Life.on(bench, async (_job, ctx) => {
      await ctx.step('a', async () => {
        arrived += 1
        if (arrived === 5) all.open()
        await all.opened
      })
      await Promise.all([1, 2, 3].map((n) => ctx.spawn('order', n, { delay: HOUR })))
    })
    const [record, spawn] = [vi.spyOn(life.store.durable, 'record'), vi.spyOn(life.store.durable, 'spawn')]
    const runs = await Promise.all([1, 2, 3, 4, 5].map(() => life.execution.start('order')))
    await Promise.all(runs.map((run) => life.execution.settled(run)))
    expect(record.mock.calls.map(([sent]) => sent.length)).toEqual([5])
    expect(spawn.mock.calls.map(([{ spawns }]) => spawns.length)).toEqual([3, 3, 3, 3, 3])
  })
})

describeBoth('a step', (bench) => {
  it('is repeated by its own policy, here after a short delay', async () => {
    let calls = 0
    const life = await Life.on(bench, (_job, { step }) => {
      const work = () => {
        calls += 1
        if (calls < 3) throw new Error('no')
        return calls
      }
      return step('a', work, { retry: { max: 2, strategy: 'fixed', baseDelay: 1 } })
    })
    expect(await life.begin()).toMatchObject({ status: 'completed', run: 1, result: 3 })
  })

  it('is repeated outside of the worker after a long one, and fails when none is left', async () => {
    let calls = 0
    const life = await Life.on(bench, (_job, { step }) => {
      const work = () => {
        calls += 1
        throw new Error(`no ${calls}`)
      }
      return step('a', work, { retry: { max: 2, strategy: 'fixed', baseDelay: HOUR } }).catch(String)
    })
    expect(await life.begin()).toMatchObject({ waits: { for: [{ kind: 'retry', name: 'a' }] } })
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'pending', runAt: new Date(START + 2 * HOUR) })
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed', result: 'Error: no 3' })
    expect(calls).toBe(3)
  })

  it('counts its attempts over short and long delays, as the default policy has them', async () => {
    let calls = 0
    const life = await Life.on(bench, (_job, { step }) => {
      const work = () => {
        calls += 1
        throw new Error(`no ${calls}`)
      }
      return step('a', work, { retry: { max: 3 } }).catch(String)
    })
    expect(await life.begin()).toMatchObject({ runAt: new Date(START + 2_000) })
    expect(await life.goOn(2_000)).toMatchObject({ runAt: new Date(START + 6_000) })
    expect(await life.goOn(4_000)).toMatchObject({ status: 'completed', result: 'Error: no 4' })
    expect(calls).toBe(4)
  })

  it('has a timeout, which aborts its signal', async () => {
    const reasons: unknown[] = []
    const life = await Life.on(bench, async (_job, { step }) => {
      const hangs = (signal: AbortSignal) =>
        new Promise<null>((resolve) => {
          signal.addEventListener('abort', () => {
            reasons.push(isOncueError(signal.reason, 'STEP_TIMEOUT'))
            resolve(null)
          })
        })
      await step('a', hangs, { timeout: '5ms' })
    })
    expect(await life.begin()).toMatchObject({ lastError: { code: 'STEP_TIMEOUT' } })
    expect(reasons).toEqual([true])
  })

  it.each<[string, (ctx: JobContext<typeof jobs, 'order'>) => Promise<unknown>]>([
    ['step', (ctx) => ctx.step('b', () => 1)],
    ['sleep', (ctx) => ctx.sleep('b', '1h')],
    ['receive', (ctx) => ctx.receive('bank')],
  ])('refuses a %s within it', async (call, nested) => {
    const life = await Life.on(bench, async (_job, ctx) => {
      await ctx.step('a', async () => {
        await nested(ctx)
      })
    })
    expect(await life.begin()).toMatchObject({
      lastError: { code: 'NESTED_CALL', message: `ctx.${call} was called within the step "a"` },
    })
  })

  it('that runs keeps the run from being suspended beside a wait', async () => {
    const life = await Life.on(bench, async (_job, { step, sleep }) => {
      const nap = sleep('a', '1h')
      // Longer than the second of quiet before a suspension.
      await step('slow', () => pause(1_200))
      await nap
    })
    await life.begin()
    expect((await life.store.durable.outcomes(life.id)).map(({ key }) => key)).toContain('step:slow')
    expect(await life.goOn(HOUR)).toMatchObject({ status: 'completed', run: 2 })
  })
})

describeBoth('a suspension', (bench) => {
  it('ends middleware and ctx.signal, and drops the handler', async () => {
    const ends: unknown[] = []
    const reasons: unknown[] = []
    let finished = false
    const watch: Middleware = async (_job, _ctx, next) => {
      try {
        return await next()
      } catch (error) {
        ends.push(isOncueError(error, 'JOB_SUSPENDED'))
        return 'swallowed'
      }
    }
    const handle: Handle = async (_job, { sleep, signal }) => {
      signal.addEventListener('abort', () => reasons.push(isOncueError(signal.reason, 'JOB_SUSPENDED')))
      try {
        await sleep('a', '1h')
      } finally {
        finished = true
      }
    }
    const life = await Life.on(bench, handle, { middleware: [watch] })
    expect(await life.begin()).toMatchObject({ status: 'pending', result: null })
    await until(() => ends.length > 0)
    expect([ends, reasons, finished]).toEqual([[true], [true], false])
  })

  it('happens at once if the handler never did two things, otherwise after a second of quiet', async () => {
    const delays: number[] = []
    const after: Runtime['after'] = (ms, work) => {
      delays.push(ms)
      return systemRuntime.after(ms > 1_000 ? ms : 0, work)
    }
    const runtime = { ...STANDING, after }
    const alone = await Life.on(
      bench,
      async (_job, { sleep }) => {
        await sleep('a', 5)
        await sleep('b', '1h')
      },
      { runtime },
    )
    await alone.begin()
    expect(delays).not.toContain(1_000)
    const racing: Handle = (_job, { sleep, receive }) => Promise.race([sleep('b', '1h'), receive('stop')])
    const life = await Life.on(bench, racing, { runtime })
    await life.begin()
    expect(delays).toContain(1_000)
  })

  it('releases the timers of its run', async () => {
    const timers = new Set<unknown>()
    const started = (start: Runtime['after']): Runtime['after'] => {
      return (ms, work) => {
        const timer = start(ms, () => {
          if (start === systemRuntime.after) timers.delete(timer)
          work()
        })
        timers.add(timer)
        return timer
      }
    }
    const runtime: Runtime = {
      ...STANDING,
      after: started(systemRuntime.after),
      every: started(systemRuntime.every),
      cancel(timer) {
        timers.delete(timer)
        systemRuntime.cancel(timer)
      },
    }
    const life = await Life.on(
      bench,
      async (_job, { step, sleep, receive, ask }) => {
        await Promise.all([step('a', () => pause(5)), step('b', () => pause(20), { timeout: '1m' })])
        await Promise.race([
          sleep('c', '1h'),
          receive('bank', { timeout: '2h' }),
          ask('ok', 'Ok?', z.object({}), { timeout: '3h' }),
        ])
      },
      { runtime },
    )
    expect(await life.begin()).toMatchObject({ waits: { for: [{}, {}, {}] } })
    await until(() => timers.size === 0)
  })

  it('is what a stopping worker does with a run that only waits', async () => {
    const life = await Life.on(bench, async (_job, { sleep, receive }) => {
      await Promise.race([sleep('a', '1h'), receive('bank')])
    })
    const run = await life.execution.start('order')
    run.abort('shutdown')
    expect(await life.execution.settled(run)).toMatchObject({ status: 'pending', waits: { for: [{}, {}] } })
  })

  it('in a stopping worker keeps a failure that the handler survived, and no abort', async () => {
    const seen: string[] = []
    const began = new Gate()
    const life = await Life.on(bench, async (_job, { step, sleep, signal }) => {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      const failing = step('failing', async () => {
        await aborted
        throw new RangeError('no such account')
      }).catch((error) => seen.push(`failing: ${error.message}`))
      const stopping = step('stopping', async (stop) => {
        began.open()
        await aborted
        throw stop.reason
      }).catch((error) => seen.push(error.code))
      await Promise.all([failing, stopping])
      await sleep('a', '1h')
    })
    const run = await life.execution.start('order')
    await began.opened
    run.abort('shutdown')
    const { id } = await life.execution.settled(run)
    expect(seen).toEqual(['failing: no such account', 'WORKER_STOPPING'])
    const outcomes = await life.store.durable.outcomes(id)
    expect(outcomes.map(({ key, kind }) => [key, kind])).toEqual([
      ['step:failing', 'step_failed'],
      ['wait:sleep:a', 'wait'],
    ])
  })

  it('happens at once also to a run that begins to wait when its worker stops', async () => {
    const stopped = new Gate()
    const life = await Life.on(bench, async (_job, { sleep, receive }) => {
      await stopped.opened
      await Promise.race([sleep('a', '1h'), receive('bank')])
    })
    const run = await life.execution.start('order')
    run.abort('shutdown')
    stopped.open()
    expect(await life.execution.settled(run)).toMatchObject({ status: 'pending', waits: { for: [{}, {}] } })
  })

  it('does not happen to a run that lost its lease, and its next step does not run', async () => {
    const began = new Gate()
    const lost = new Gate()
    const seen: unknown[] = []
    const life = await Life.on(bench, async (_job, { step }) => {
      await step('a', () => 1)
      began.open()
      await lost.opened
      await step('b', () => seen.push('ran')).catch((error) => seen.push(error.code))
    })
    const run = await life.execution.start('order')
    await began.opened
    run.abort('lost')
    lost.open()
    expect((await run.ended).settlement).toBeNull()
    expect(seen).toEqual(['STALE_RUN'])
  })

  it.each(['cancelled', 'lost'] as const)(
    'lets a step beside a wait reject when the run is %s',
    async (reason) => {
      const rejected = new Gate()
      const began = new Gate()
      const unhandled: unknown[] = []
      const note = (error: unknown) => unhandled.push(error)
      const life = await Life.on(bench, async (_job, { step, sleep }) => {
        // Awaited only after the wait, which rejects first.
        const work = step('work', async (signal) => {
          began.open()
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          rejected.open()
          throw signal.reason
        })
        await sleep('a', '1h')
        await work
      })
      const run = await life.execution.start('order')
      await began.opened
      process.on('unhandledRejection', note)
      onTestFinished(() => void process.off('unhandledRejection', note))
      run.abort(reason)
      await run.ended
      await rejected.opened
      // Node reports at the end of a turn.
      await systemRuntime.sleep(0)
      await systemRuntime.sleep(0)
      expect(unhandled).toEqual([])
    },
  )

  it('does not happen to a job that was cancelled: its waits end', async () => {
    const waiting = new Gate()
    const life = await Life.on(bench, async (_job, { sleep, receive }) => {
      const both = Promise.race([sleep('a', '1h'), receive('bank')])
      waiting.open()
      await both
    })
    const run = await life.execution.start('order')
    await waiting.opened
    await life.store.cancel([run.job.id])
    run.abort('cancelled')
    expect(await life.execution.settled(run)).toMatchObject({ status: 'cancelled' })
  })
})

describeBoth('a durable job in a real worker', (bench) => {
  it('is suspended, resumed by a signal, and completed', async () => {
    const store = await bench.open()
    const order: Handle = async (_job, { step, receive }) => {
      const charged = await step('charge', () => 'c-1')
      const { value } = await receive('bank', { timeout: '7d' })
      return { charged, ok: value?.ok }
    }
    await bench.start({ store, workers: defineWorkers(jobs, { order }) })
    const ids = await store.enqueue(Array.from({ length: 20 }, aNewOrder))
    const all = () => Promise.all(ids.map((id) => store.get(id)))
    await until(async () => (await all()).every((found) => found?.waits))
    expect((await store.workers()).map(({ running }) => running)).toEqual([0])
    await Promise.all(
      ids.map((id, n) =>
        store.durable.signal({ id, name: 'bank', data: JSON.stringify({ ok: n % 2 === 0 }) }),
      ),
    )
    await until(async () => (await all()).every((found) => found?.status === 'completed'))
    expect((await all()).map((found) => found?.result)).toEqual(
      ids.map((_, n) => ({ charged: 'c-1', ok: n % 2 === 0 })),
    )
  })
})

describe('the types of waits', () => {
  it('follow the signals of the topic', () => {
    const typed = (ctx: JobContext<typeof jobs, 'order'>, _job: RunningJob) => {
      expectTypeOf(ctx.receive('bank')).resolves.toEqualTypeOf<
        | { readonly timedOut: false; readonly value: { ok: boolean } }
        | { readonly timedOut: true; readonly value?: undefined }
      >()
      // @ts-expect-error no such signal
      void ctx.receive('visa')
      // @ts-expect-error no such unit
      void ctx.sleep('a', '5 parsecs')
      // @ts-expect-error a result that cannot be stored
      void ctx.step('a', () => 1n, { timeout: '5s' })
    }
    expect(typed).toBeTypeOf('function')
  })
})
