import { defineJobs, defineWorkers, type JobConfig, job, type RunningJob } from '@oncue/core'
import type { Schedule, Store } from '@oncue/db'
import { TestClock } from '@oncue/db/conformance'
import { systemRuntime } from '@oncue/runtime'
import { eventually } from '@oncue/testing'
import { beforeEach, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { createTicker } from '../src/maintenance/schedules.ts'
import { describeBoth, TestLog, until } from './harness.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const HASTY = { term: HOUR, try: 5, look: 5, rollUp: HOUR, prune: HOUR }

const nightly: Schedule = {
  name: 'nightly',
  cron: '0 * * * *',
  timezone: 'UTC',
  topic: 'report',
  payload: null,
  options: {},
  missed: 'skip',
  source: 'database',
}

const input = z.object({ kind: z.string().default('all') })
type Config = Omit<JobConfig<typeof input, z.ZodUnknown>, 'input'>

/** Workers of one topic, `report`, with this definition. */
function reporting(config: Config, run: (job: RunningJob) => void = () => {}) {
  const jobs = defineJobs({ report: job({ input, ...config }) })
  return defineWorkers(jobs, { report: (given) => run(given) })
}

describeBoth('a schedule in code', (bench) => {
  it('is stored when the worker has started, and runs with the options of its definition', async () => {
    const clock = new TestClock('2026-01-01T00:59:59Z')
    const store = await bench.open({ clock: clock.now })
    const ran: RunningJob[] = []
    const config = {
      cron: '0 9 * * *',
      timezone: 'Asia/Shanghai',
      cronPayload: { kind: 'daily' },
      queue: 'mail',
      priority: 5,
      retry: { max: 7, strategy: 'fixed' },
    } as const
    const workers = reporting(config, (given) => ran.push(given))
    await bench.start({ store, workers, maintenance: { timing: HASTY }, lease: 'inline', pollMs: 10 })
    expect(await store.schedules.list()).toMatchObject([
      { name: 'report', source: 'code', nextAt: new Date('2026-01-01T01:00:00Z') },
    ])
    clock.advance(2_000)
    await until(() => ran.length === 1)
    expect(ran).toMatchObject([
      {
        payload: { kind: 'daily' },
        queue: 'mail',
        priority: 5,
        maxRetries: 7,
        runAt: new Date('2026-01-01T01:00:00Z'),
      },
    ])
  })

  it('follows the code at the next start: changed, and removed', async () => {
    const store = await bench.open()
    const restart = async (config: Config) => {
      const worker = await bench.start({ store, workers: reporting(config) })
      await worker.stop()
      return store.schedules.list()
    }
    expect(await restart({ cron: '0 9 * * *' })).toMatchObject([{ cron: '0 9 * * *', missed: 'skip' }])
    expect(await restart({ cron: '0 8 * * *', missed: 'all' })).toMatchObject([
      { cron: '0 8 * * *', missed: 'all' },
    ])
    expect(await restart({})).toEqual([])
  })

  it('is not changed by another service that serves a topic of the same name', async () => {
    const store = await bench.open()
    await bench.start({ store, service: 'billing', workers: reporting({ cron: '0 9 * * *' }) })
    const before = await store.schedules.list()
    expect(before).toMatchObject([{ name: 'report', cron: '0 9 * * *', service: 'billing' }])
    await bench.start({ store, service: 'mailing', workers: reporting({}) })
    expect(await store.schedules.list()).toEqual(before)
  })

  it('that two services declare stays with the first, and the other one logs it', async () => {
    const store = await bench.open()
    await bench.start({ store, service: 'billing', workers: reporting({ cron: '0 9 * * *' }) })
    const log = new TestLog()
    await bench.start({ store, service: 'mailing', workers: reporting({ cron: '0 8 * * *' }), log })
    expect(await store.schedules.list()).toMatchObject([{ cron: '0 9 * * *', service: 'billing' }])
    expect(log.lines).toContainEqual({
      level: 'warn',
      message: expect.stringContaining('schedule report belongs to service billing'),
      fields: { schedule: 'report', service: 'mailing', owner: 'billing' },
    })
  })

  it('stays with its service when another one starts at the same moment', async () => {
    const store = await bench.open()
    const save = store.schedules.save
    vi.spyOn(store.schedules, 'save').mockImplementationOnce(async (schedule) => {
      const saved = await save(schedule)
      await bench.start({ store, service: 'mailing', workers: reporting({ cron: '0 8 * * *' }) })
      return saved
    })
    await bench.start({ store, service: 'billing', workers: reporting({ cron: '0 9 * * *' }) })
    expect(await store.schedules.list()).toMatchObject([{ cron: '0 9 * * *', service: 'billing' }])
  })

  it('of an unnamed service is kept, and that is logged: it may belong to another service', async () => {
    const store = await bench.open()
    await bench.start({ store, service: 'default', workers: reporting({ cron: '0 9 * * *' }) })
    const before = await store.schedules.list()
    const log = new TestLog()
    await bench.start({ store, service: 'default', workers: reporting({}), log })
    expect(await store.schedules.list()).toEqual(before)
    expect(log.lines).toContainEqual({
      level: 'warn',
      message: expect.stringContaining('schedule report is not declared in this code, but was kept'),
      fields: { schedule: 'report', service: 'default' },
    })
  })

  it('of another service is not logged by a worker of an unnamed service', async () => {
    const store = await bench.open()
    await bench.start({ store, service: 'billing', workers: reporting({ cron: '0 9 * * *' }) })
    const log = new TestLog()
    await bench.start({ store, service: 'default', workers: reporting({}), log })
    expect(await store.schedules.list()).toMatchObject([{ service: 'billing' }])
    expect(log.of('warn')).toEqual([])
  })

  it('follows a service that changed its name', async () => {
    const store = await bench.open()
    const restart = async (service: string, config: Config) => {
      const worker = await bench.start({ store, service, workers: reporting(config) })
      await worker.stop()
      return store.schedules.list()
    }
    await restart('billing', { cron: '0 9 * * *' })
    expect(await restart('accounts', { cron: '0 9 * * *' })).toMatchObject([{ service: 'accounts' }])
    expect(await restart('accounts', {})).toEqual([])
  })

  it('that is unchanged is not written again', async () => {
    const clock = new TestClock()
    const store = await bench.open({ clock: clock.now })
    const save = vi.spyOn(store.schedules, 'save')
    const start = async () => {
      const workers = reporting({ cron: '0 9 * * *', queue: 'mail', retry: { max: 2 } })
      const worker = await bench.start({ store, workers, lease: 'inline' })
      await worker.stop()
    }
    await start()
    const [first] = await store.schedules.list()
    clock.advance(5 * HOUR)
    await start()
    expect(await store.schedules.list()).toEqual([first])
    expect(save).toHaveBeenCalledTimes(1)
  })

  it('does not affect schedules that people made, nor those of topics that it does not serve', async () => {
    const store = await bench.open()
    await store.schedules.save({ ...nightly, name: 'report' })
    await store.schedules.save({ ...nightly, name: 'elsewhere', topic: 'elsewhere', source: 'code' })
    const worker = await bench.start({ store, workers: reporting({}) })
    await worker.stop()
    expect(await store.schedules.list()).toMatchObject([{ name: 'elsewhere' }, { name: 'report' }])
  })

  it('that an operator paused stays paused, also when its pattern changes', async () => {
    const store = await bench.open()
    for (const cron of ['0 9 * * *', '0 9 * * *', '0 8 * * *']) {
      const worker = await bench.start({ store, workers: reporting({ cron }) })
      await worker.stop()
      await store.schedules.pause('report', 'on-call')
      expect(await store.schedules.list()).toMatchObject([{ cron, nextAt: null, paused: { by: 'on-call' } }])
    }
  })

  it('may belong to a topic with the prefix of an application', async () => {
    const store = await bench.open()
    const jobs = defineJobs({ 'billing:close': job({ input: z.object({}), cron: '@monthly' }) })
    await bench.start({ store, workers: defineWorkers(jobs, { 'billing:close': () => {} }) })
    expect(await store.schedules.list()).toMatchObject([{ name: 'billing:close', topic: 'billing:close' }])
  })

  it.each([
    ['an invalid pattern', { cron: '61 * * * *' }],
    ['a range that would take all memory', { cron: '0-99999999999 * * * *' }],
    ['an unknown zone', { cron: '0 9 * * *', timezone: 'Mars/Phobos' }],
  ])('with %s keeps the worker from starting', async (_, config) => {
    const store = await bench.open()
    await expect(bench.start({ store, workers: reporting(config) })).rejects.toMatchObject({
      code: 'INVALID_CRON',
    })
    expect(await store.workers()).toEqual([])
  })
})

describeBoth('ticking', (bench) => {
  let clock: TestClock
  beforeEach(() => {
    clock = new TestClock()
  })
  const goTo = (iso: string) => clock.advance(Date.parse(iso) - clock.now().getTime())
  const tick = (store: Store, lookMs = 5) => {
    const log = new TestLog()
    const ticker = createTicker({ store, log, runtime: systemRuntime }, lookMs)
    ticker.start()
    return { log, stop: () => ticker.stop() }
  }
  const runAts = async (store: Store) =>
    (await store.list({ topic: 'report' }, { limit: 1_000 })).items
      .map((item) => item.runAt.toISOString().slice(0, 16))
      .sort()

  it('makes one job per tick with two leaders at once, and with a clock that goes back and forth', async () => {
    const stores = await Promise.all([1, 2].map(() => bench.open({ clock: clock.now })))
    const [store] = stores as [Store]
    await store.schedules.save({ ...nightly, cron: '* * * * *', missed: 'all' })
    const tickers = stores.map((each) => tick(each))
    const expected: string[] = []
    for (let minute = 1; minute <= 10; minute++) {
      clock.advance(MINUTE)
      expected.push(clock.now().toISOString().slice(0, 16))
      await eventually(async () => expect(await runAts(store)).toEqual(expected))
      if (minute % 3 === 0) {
        clock.advance(-5 * MINUTE)
        await store.schedules.next()
        clock.advance(5 * MINUTE)
      }
    }
    for (const { stop } of tickers) await stop()
    expect(await runAts(store)).toEqual(expected)
    expect(tickers.flatMap(({ log }) => log.of('error'))).toEqual([])
  })

  it.each([
    ['skip', []],
    ['one', ['2026-01-01T05:00']],
    ['all', [1, 2, 3, 4, 5].map((hour) => `2026-01-01T0${hour}:00`)],
  ] as const)('handles ticks that were missed while no leader ran: %s', async (missed, expected) => {
    const store = await bench.open({ clock: clock.now })
    await store.schedules.save({ ...nightly, missed })
    goTo('2026-01-01T05:30:00Z')
    const { stop } = tick(store)
    await expect
      .poll(async () => (await store.schedules.list())[0]?.nextAt)
      .toEqual(new Date('2026-01-01T06:00:00Z'))
    await stop()
    expect(await runAts(store)).toEqual(expected)
  })

  // Berlin: +1 to +2 on 29 March at 01:00 UTC, back on 25 October at 01:00 UTC.
  // New York: -5 to -4 on 8 March at 07:00 UTC, back on 1 November at 06:00 UTC.
  it.each([
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00', '2026-03-30T00:30']],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T00:30', '2026-10-26T01:30']],
    ['30 2 * * *', 'America/New_York', '2026-03-07T12:00Z', ['2026-03-08T07:00', '2026-03-09T06:30']],
    ['30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', ['2026-11-01T05:30', '2026-11-02T06:30']],
  ])('ticks once a day when clocks change: %s in %s after %s', async (cron, timezone, from, expected) => {
    const store = await bench.open({ clock: clock.now })
    goTo(from)
    await store.schedules.save({ ...nightly, cron, timezone })
    const { stop } = tick(store)
    // In steps of a quarter of an hour, over both days.
    for (let step = 0; step < 2 * 24 * 4; step++) {
      clock.advance(15 * MINUTE)
      const { nextAt } = await store.schedules.next()
      if (nextAt && nextAt <= clock.now()) {
        await until(async () => ((await store.schedules.next()).nextAt ?? nextAt) > nextAt)
      }
    }
    await stop()
    expect(await runAts(store)).toEqual(expected)
  })
})

describeBoth('a schedule that people change while the leader runs', (bench) => {
  const EVERY_SECOND = { ...nightly, cron: '* * * * * *' }
  const start = async (store: Store) => {
    // It polls once an hour: it reacts sooner only to notifications.
    const timing = { ...HASTY, try: 50, look: HOUR }
    const ran: RunningJob[] = []
    const workers = { report: (given: RunningJob) => void ran.push(given) }
    await bench.start({ store, workers, maintenance: { timing } })
    return ran
  }

  it('ticks from its creation on, not while it is paused, and again when it is resumed', async () => {
    const ran = await start(await bench.open())
    const { schedules } = await bench.open()
    await schedules.save(EVERY_SECOND)
    await until(() => ran.length >= 2)
    await schedules.pause('nightly')
    const { nextAt, now } = await schedules.next()
    expect(nextAt).toBeNull()
    expect(now.getTime() - Math.max(...ran.map(({ runAt }) => runAt.getTime()))).toBeLessThan(5_000)
    const ticked = (await schedules.list())[0]?.lastAt?.getTime() ?? 0
    await schedules.resume('nightly')
    await until(() => ran.some(({ runAt }) => runAt.getTime() > ticked))
  })

  it('can be edited, and run now', async () => {
    const ran = await start(await bench.open())
    const { schedules } = await bench.open()
    await schedules.save({ ...EVERY_SECOND, cron: '0 0 1 1 *', payload: 'once a year' })
    const id = await schedules.runNow('nightly')
    await until(() => ran.some((given) => given.id === id))
    await schedules.save({ ...EVERY_SECOND, payload: 'every second' })
    await until(() => ran.some(({ payload }) => payload === 'every second'))
    await schedules.remove('nightly')
    expect(ran.filter(({ payload }) => payload === 'once a year')).toHaveLength(1)
  })
})
