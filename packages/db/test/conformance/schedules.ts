import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Schedule, ScheduleStore } from '../../src/portable/schedules.ts'
import type { Store } from '../../src/store.ts'
import { aJob, Bench, claiming, type Dialect, MINUTE, read } from './harness.ts'

const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

function aSchedule(changes: Partial<Schedule> = {}): Schedule {
  return {
    name: 'nightly',
    cron: '0 * * * *',
    timezone: 'UTC',
    topic: 'mail_digest',
    payload: { userId: '123' },
    options: {},
    missed: 'one',
    source: 'database',
    ...changes,
  }
}

export function describeSchedules(dialect: Dialect): void {
  describe('schedules', () => {
    const bench = new Bench(dialect)
    const at = (iso: string) => new Date(iso)
    const goTo = (iso: string) => bench.clock.advance(Date.parse(iso) - bench.clock.now().getTime())
    const runAts = async (store: Store) =>
      (await store.claim(claiming({ limit: 200 }))).jobs.map((job) => job.runAt.toISOString())

    beforeEach(() => {
      goTo('2026-01-01T00:00:00Z')
    })

    it('makes jobs as a worker announced their topic; options of the schedule take precedence', async () => {
      const store = await bench.openWithClock()
      const retry = { strategy: 'fixed', baseDelay: 500 } as const
      const policy = { queue: 'mail', priority: 3, timeoutMs: 30_000, maxRetries: 0, retry }
      await store.announce([{ topic: 'mail_digest', input: {}, output: {}, policy }])
      await store.schedules.save(aSchedule())
      await store.schedules.save(aSchedule({ name: 'own', options: { queue: 'high', retry: { max: 5 } } }))
      const jobOf = async (name: string) => store.get(await store.schedules.runNow(name))
      expect(await jobOf('nightly')).toMatchObject(policy)
      expect(await jobOf('own')).toMatchObject({ ...policy, queue: 'high', maxRetries: 5 })
      goTo('2026-01-01T01:00:00Z')
      const { enqueued } = await store.schedules.tick()
      const ticked = await Promise.all(enqueued.map((id) => store.get(id)))
      expect(ticked.map((job) => [job?.queue, job?.maxRetries]).toSorted()).toEqual([
        ['high', 5],
        ['mail', 0],
      ])
    })

    it('stores a schedule and returns its next tick', async () => {
      const store = await bench.openWithClock()
      const schedule = aSchedule({ options: { queue: 'high', priority: 5, meta: { team: 'mail' } } })
      const saved = await store.schedules.save(schedule)
      expect(saved).toEqual({
        ...schedule,
        service: null,
        nextAt: at('2026-01-01T01:00:00Z'),
        lastAt: null,
        paused: null,
      })
      await store.schedules.save(aSchedule({ name: 'another', payload: 'text', source: 'code' }))
      expect(await store.schedules.list()).toMatchObject([{ name: 'another', payload: 'text' }, saved])
    })

    describe('declared in code', () => {
      const inCode = (service: string, cron = '0 * * * *') => aSchedule({ source: 'code', service, cron })

      const serve = async (store: Store, service: string) => {
        const worker = randomUUID()
        await store.announce([{ topic: 'report', input: {}, output: {}, policy: {} }], { worker, service })
        const info = { host: 'web-1', pid: 1, queues: ['default'], concurrency: 1, version: '0' }
        return store.attend({ id: worker, ...info })
      }

      it('belongs to its service: another service neither changes nor removes it', async () => {
        const store = await bench.openWithClock()
        const presence = await serve(store, 'billing')
        const saved = await store.schedules.save(inCode('billing'))
        expect(saved).toMatchObject({ source: 'code', service: 'billing' })
        expect(await store.schedules.save(inCode('reports', '5 * * * *'))).toEqual(saved)
        await store.schedules.withdraw(saved.name, 'reports')
        expect(await store.schedules.list()).toEqual([saved])
        expect(await store.schedules.save(inCode('billing', '7 * * * *'))).toMatchObject({
          cron: '7 * * * *',
        })
        await store.schedules.withdraw(saved.name, 'billing')
        expect(await store.schedules.list()).toEqual([])
        await presence.leave()
      })

      it('passes to another service that declares it once no worker of the first is alive', async () => {
        const store = await bench.openWithClock()
        const presence = await serve(store, 'billing')
        await store.schedules.save(inCode('billing'))
        await presence.leave()
        expect(await store.schedules.save(inCode('accounts', '5 * * * *'))).toMatchObject({
          service: 'accounts',
          cron: '5 * * * *',
        })
      })

      it('is not changed by people, unless they say that they take it over', async () => {
        const store = await bench.openWithClock()
        const presence = await serve(store, 'billing')
        await store.schedules.save(inCode('billing'))
        const changed = aSchedule({ source: 'database', cron: '5 * * * *' })
        await expect(store.schedules.save(changed)).rejects.toMatchObject({
          code: 'SCHEDULE_IN_CODE',
          message: expect.stringContaining('declared in code, by billing'),
        })
        expect(await store.schedules.list()).toMatchObject([inCode('billing')])
        // Also once its workers are gone: the next one would declare it again.
        await presence.leave()
        await expect(store.schedules.save(changed)).rejects.toMatchObject({ code: 'SCHEDULE_IN_CODE' })
        expect(await store.schedules.save(changed, { takeOver: true })).toMatchObject({
          source: 'database',
          service: null,
          cron: '5 * * * *',
        })
        expect(await store.schedules.save(changed)).toMatchObject({ source: 'database' })
      })

      it('that people have taken over or removed is theirs', async () => {
        const store = await bench.openWithClock()
        const presence = await serve(store, 'billing')
        const { name } = await store.schedules.save(inCode('billing'))
        await store.schedules.save(aSchedule({ source: 'database' }), { takeOver: true })
        await store.schedules.withdraw(name, 'billing')
        expect(await store.schedules.list()).toMatchObject([{ name, source: 'database', service: null }])
        await store.schedules.remove(name)
        await presence.leave()
      })
    })

    it('enqueues a job at each tick, due at the tick, with the options of the schedule', async () => {
      const store = await bench.openWithClock()
      await store.schedules.save(aSchedule({ options: { queue: 'high', maxRetries: 7 } }))
      expect(await store.schedules.tick()).toEqual({ enqueued: [], nextAt: at('2026-01-01T01:00:00Z') })
      goTo('2026-01-01T01:00:02.345Z')
      const { enqueued, nextAt } = await store.schedules.tick()
      expect(nextAt).toEqual(at('2026-01-01T02:00:00Z'))
      expect(enqueued).toHaveLength(1)
      expect(await read(store, enqueued[0] ?? '')).toMatchObject({
        topic: 'mail_digest',
        queue: 'high',
        payload: { userId: '123' },
        maxRetries: 7,
        runAt: at('2026-01-01T01:00:00Z'),
      })
      expect(await store.schedules.list()).toMatchObject([{ nextAt, lastAt: at('2026-01-01T01:00:00Z') }])
      expect((await store.schedules.tick()).enqueued).toEqual([])
    })

    it('adds the delay of its options to the tick', async () => {
      const store = await bench.openWithClock()
      await store.schedules.save(aSchedule({ options: { delay: 90_000 } }))
      goTo('2026-01-01T01:00:01Z')
      const { enqueued } = await store.schedules.tick()
      expect(await read(store, enqueued[0] ?? '')).toMatchObject({ runAt: at('2026-01-01T01:01:30Z') })
    })

    it('ticks on seconds when the pattern has six fields', async () => {
      const store = await bench.openWithClock()
      const { nextAt } = await store.schedules.save(aSchedule({ cron: '*/10 * * * * *' }))
      expect(nextAt).toEqual(at('2026-01-01T00:00:10Z'))
    })

    it('makes one job per tick, however many stores tick at the same time', async () => {
      const stores = await Promise.all([1, 2, 3].map(() => bench.openWithClock()))
      const [store] = stores as [Store]
      const names = Array.from({ length: 5 }, (_, n) => `s${n}`)
      for (const name of names) await store.schedules.save(aSchedule({ name, missed: 'all' }))
      for (const hour of ['03', '06', '09']) {
        goTo(`2026-01-01T${hour}:00:00Z`)
        const ticked = await Promise.all([...stores, ...stores].map(({ schedules }) => schedules.tick()))
        expect(ticked.flatMap(({ enqueued }) => enqueued)).toHaveLength(3 * names.length)
      }
      expect(await runAts(store)).toHaveLength(9 * names.length)
    })

    it('makes one job per tick when the clock is set back and the same schedule is saved again', async () => {
      const store = await bench.openWithClock()
      await store.schedules.save(aSchedule())
      goTo('2026-01-01T01:00:00Z')
      await store.schedules.tick()
      goTo('2026-01-01T00:30:00Z')
      await store.schedules.remove('nightly')
      await store.schedules.save(aSchedule())
      goTo('2026-01-01T01:00:00Z')
      expect((await store.schedules.tick()).enqueued).toEqual([])
      expect(await runAts(store)).toEqual(['2026-01-01T01:00:00.000Z'])
    })

    it('makes its job even when a caller has taken every key it could use', async () => {
      const store = await bench.openWithClock()
      await store.schedules.save(aSchedule())
      const key = `schedule:nightly:${at('2026-01-01T01:00:00Z').getTime()}`
      const { topic } = aSchedule()
      await store.enqueue([
        aJob({ topic, idempotencyKey: key }),
        aJob({ topic, unique: { key } }),
        aJob({ topic, unique: { key, scope: 'all' } }),
      ])
      goTo('2026-01-01T01:00:00Z')
      expect((await store.schedules.tick()).enqueued).toHaveLength(1)
    })

    describe('missed ticks', () => {
      async function afterAnOutage(schedule: Partial<Schedule>, back: string): Promise<string[]> {
        const store = await bench.openWithClock()
        await store.schedules.save(aSchedule(schedule))
        goTo(back)
        await store.schedules.tick()
        return runAts(store)
      }

      it.each([
        ['2026-01-01T05:00:00Z', ['2026-01-01T05:00:00.000Z']],
        ['2026-01-01T05:01:00Z', ['2026-01-01T05:00:00.000Z']],
        ['2026-01-01T05:01:00.001Z', []],
      ])('skip: back at %s, runs only what is at most a minute late', async (back, expected) => {
        expect(await afterAnOutage({ missed: 'skip' }, back)).toEqual(expected)
      })

      it('skip: makes up for the seconds of a short hiccup', async () => {
        const seconds = await afterAnOutage(
          { missed: 'skip', cron: '*/10 * * * * *' },
          '2026-01-01T00:00:35Z',
        )
        expect(seconds.map((iso) => iso.slice(17, 19))).toEqual(['10', '20', '30'])
      })

      it('one: runs the latest', async () => {
        expect(await afterAnOutage({ missed: 'one' }, '2026-01-03T05:30:00Z')).toEqual([
          '2026-01-03T05:00:00.000Z',
        ])
      })

      it('one: finds the latest of a year of seconds without counting them', async () => {
        const back = '2027-01-01T00:00:00Z'
        expect(await afterAnOutage({ cron: '* * * * * *' }, back)).toEqual(['2027-01-01T00:00:00.000Z'])
      })

      it('all: runs each, oldest first', async () => {
        expect(await afterAnOutage({ missed: 'all' }, '2026-01-01T03:30:00Z')).toEqual([
          '2026-01-01T01:00:00.000Z',
          '2026-01-01T02:00:00.000Z',
          '2026-01-01T03:00:00.000Z',
        ])
      })

      it('all: runs the latest hundred when there were more', async () => {
        const ran = await afterAnOutage({ missed: 'all', cron: '* * * * *' }, '2026-01-02T00:00:30Z')
        expect(ran).toHaveLength(100)
        expect(ran[0]).toBe('2026-01-01T22:21:00.000Z')
        expect(ran.at(-1)).toBe('2026-01-02T00:00:00.000Z')
      })

      it('then continues with the next tick', async () => {
        const store = await bench.openWithClock()
        await store.schedules.save(aSchedule({ missed: 'skip' }))
        goTo('2026-01-01T05:30:00Z')
        expect(await store.schedules.tick()).toEqual({ enqueued: [], nextAt: at('2026-01-01T06:00:00Z') })
        expect(await store.schedules.list()).toMatchObject([{ lastAt: null }])
      })
    })

    describe('when clocks change', () => {
      async function nextTicks(schedules: ScheduleStore, cron: string, timezone: string, count: number) {
        const ticks: string[] = []
        let { nextAt } = await schedules.save(aSchedule({ cron, timezone }))
        while (nextAt && ticks.length < count) {
          ticks.push(nextAt.toISOString().slice(0, 16))
          goTo(nextAt.toISOString())
          const ticked = await schedules.tick()
          expect(ticked.enqueued).toHaveLength(1)
          nextAt = ticked.nextAt
        }
        return ticks
      }

      // Berlin: +1 to +2 on 29 March at 01:00 UTC, back on 25 October at 01:00 UTC.
      // New York: -5 to -4 on 8 March at 07:00 UTC, back on 1 November at 06:00 UTC. Shanghai: always +8.
      it.each([
        [
          'a skipped time ticks at the change',
          '30 2 * * *',
          'Europe/Berlin',
          '2026-03-28T12:00Z',
          ['2026-03-29T01:00', '2026-03-30T00:30'],
        ],
        [
          'a time that comes twice ticks once',
          '30 2 * * *',
          'Europe/Berlin',
          '2026-10-24T12:00Z',
          ['2026-10-25T00:30', '2026-10-26T01:30'],
        ],
        [
          'every hour goes on in spring',
          '0 * * * *',
          'Europe/Berlin',
          '2026-03-28T23:30Z',
          ['2026-03-29T00:00', '2026-03-29T01:00', '2026-03-29T02:00'],
        ],
        [
          'every hour goes on in autumn',
          '0 * * * *',
          'Europe/Berlin',
          '2026-10-24T23:30Z',
          ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00'],
        ],
        [
          'a skipped time ticks at the change',
          '30 2 * * *',
          'America/New_York',
          '2026-03-07T12:00Z',
          ['2026-03-08T07:00', '2026-03-09T06:30'],
        ],
        [
          'a time that comes twice ticks once',
          '30 1 * * *',
          'America/New_York',
          '2026-10-31T12:00Z',
          ['2026-11-01T05:30', '2026-11-02T06:30'],
        ],
        [
          'every hour goes on in spring',
          '0 * * * *',
          'America/New_York',
          '2026-03-08T05:30Z',
          ['2026-03-08T06:00', '2026-03-08T07:00', '2026-03-08T08:00'],
        ],
        [
          'every hour goes on in autumn',
          '0 * * * *',
          'America/New_York',
          '2026-11-01T04:30Z',
          ['2026-11-01T05:00', '2026-11-01T06:00', '2026-11-01T07:00'],
        ],
        [
          'nothing happens in March',
          '30 2 * * *',
          'Asia/Shanghai',
          '2026-03-28T12:00Z',
          ['2026-03-28T18:30', '2026-03-29T18:30'],
        ],
        [
          'nothing happens in October',
          '30 2 * * *',
          'Asia/Shanghai',
          '2026-10-24T12:00Z',
          ['2026-10-24T18:30', '2026-10-25T18:30'],
        ],
      ])('%s: %s in %s', async (_, cron, timezone, from, expected) => {
        const { schedules } = await bench.openWithClock()
        goTo(from)
        expect(await nextTicks(schedules, cron, timezone, expected.length)).toEqual(expected)
      })
    })

    describe('saving again', () => {
      it('keeps the next tick and the missed ones when pattern and zone are unchanged', async () => {
        const { schedules } = await bench.openWithClock()
        await schedules.save(aSchedule({ missed: 'all' }))
        goTo('2026-01-01T02:30:00Z')
        const saved = await schedules.save(aSchedule({ missed: 'all', payload: { userId: '456' } }))
        expect(saved).toMatchObject({ nextAt: at('2026-01-01T01:00:00Z'), payload: { userId: '456' } })
        expect((await schedules.tick()).enqueued).toHaveLength(2)
      })

      it.each([{ cron: '30 * * * *' }, { cron: '0,30 * * * *' }, { timezone: 'Asia/Kolkata' }])(
        'computes it anew with %o',
        async (changes) => {
          const { schedules } = await bench.openWithClock()
          await schedules.save(aSchedule())
          goTo('2026-01-01T02:10:00Z')
          const { nextAt } = await schedules.save(aSchedule(changes))
          expect(nextAt).toEqual(at('2026-01-01T02:30:00Z'))
        },
      )

      it('leaves a paused one paused', async () => {
        const { schedules } = await bench.openWithClock()
        await schedules.save(aSchedule())
        await schedules.pause('nightly', 'ada')
        const saved = await schedules.save(aSchedule({ cron: '30 * * * *' }))
        expect(saved).toMatchObject({ nextAt: null, paused: { by: 'ada' } })
      })
    })

    it('does not tick while it is paused, nor make up for it', async () => {
      const { schedules } = await bench.openWithClock()
      await schedules.save(aSchedule({ missed: 'all' }))
      const pausedAt = goTo('2026-01-01T00:10:00Z')
      await schedules.pause('nightly', 'ada')
      goTo('2026-01-01T00:20:00Z')
      await schedules.pause('nightly', 'bob')
      expect(await schedules.list()).toMatchObject([{ nextAt: null, paused: { at: pausedAt, by: 'ada' } }])
      goTo('2026-01-01T04:30:00Z')
      expect(await schedules.tick()).toEqual({ enqueued: [], nextAt: null })
      await schedules.resume('nightly')
      await schedules.resume('nightly')
      expect(await schedules.list()).toMatchObject([{ nextAt: at('2026-01-01T05:00:00Z'), paused: null }])
      expect((await schedules.tick()).enqueued).toEqual([])
    })

    it('runs one now, outside the plan, also while it is paused', async () => {
      const store = await bench.openWithClock()
      await store.schedules.save(aSchedule({ options: { queue: 'high' } }))
      await store.schedules.pause('nightly')
      const ids = [await store.schedules.runNow('nightly'), await store.schedules.runNow('nightly')]
      expect(new Set(ids).size).toBe(2)
      for (const id of ids) {
        expect(await read(store, id)).toMatchObject({ queue: 'high', runAt: bench.clock.now() })
      }
      expect(await store.schedules.list()).toMatchObject([{ nextAt: null, lastAt: null }])
    })

    it('deletes a schedule that was removed', async () => {
      const { schedules } = await bench.openWithClock()
      await schedules.save(aSchedule())
      await schedules.remove('nightly')
      expect(await schedules.list()).toEqual([])
      bench.clock.advance(DAY)
      expect(await schedules.tick()).toEqual({ enqueued: [], nextAt: null })
    })

    it('reports an unknown name', async () => {
      const { schedules } = await bench.openWithClock()
      for (const act of ['remove', 'pause', 'resume', 'runNow'] as const) {
        await expect(schedules[act]('nobody')).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
      }
    })

    it('returns the time of the next tick over all schedules', async () => {
      const { schedules } = await bench.openWithClock()
      const now = bench.clock.now()
      expect(await schedules.next()).toEqual({ nextAt: null, now })
      await schedules.save(aSchedule({ cron: '0 * * * *' }))
      expect(await schedules.next()).toEqual({ nextAt: new Date(now.getTime() + 3_600_000), now })
      await schedules.pause('nightly')
      expect(await schedules.next()).toEqual({ nextAt: null, now })
    })

    // Behind a transaction pooler there are no notifications: capability `sessions`.
    it.skipIf(dialect.pooled)('notifies of a schedule that was saved or resumed', async () => {
      const { schedules } = await bench.openWithClock()
      let heard = 0
      const subscription = await schedules.onChange(() => {
        heard += 1
      })
      await schedules.save(aSchedule())
      await expect.poll(() => heard).toBeGreaterThan(0)
      await schedules.pause('nightly')
      const before = heard
      await schedules.resume('nightly')
      await expect.poll(() => heard).toBeGreaterThan(before)
      await subscription.close()
    })

    it('skips a tick whose unique key is taken, and continues', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob({ unique: { key: 'digest' } })])
      for (const [name, onConflict] of [
        ['a', 'reject'],
        ['b', 'existing'],
      ] as const) {
        await store.schedules.save(aSchedule({ name, options: { unique: { key: 'digest', onConflict } } }))
      }
      goTo('2026-01-01T01:00:00Z')
      expect(await store.schedules.tick()).toEqual({ enqueued: [], nextAt: at('2026-01-01T02:00:00Z') })
    })

    describe('refuses', () => {
      it.each([
        ['no pattern', { cron: '' }],
        ['four fields', { cron: '* * * *' }],
        ['seven fields', { cron: '* * * * * * *' }],
        ['a minute that no hour has', { cron: '60 * * * *' }],
        ['a range that would take all memory', { cron: '0-99999999999 * * * *' }],
        ['a step that would take all memory', { cron: '*/99999999999 * * * *' }],
        ['a list that is too long', { cron: `${'1,'.repeat(200)}2 * * * *` }],
        ['the 31st of February', { cron: '0 0 31 2 *' }],
        ['a date, which is what runAt is for', { cron: '2026-12-01T00:00:00' }],
        ['a pattern of control characters', { cron: '*\n*\t* * \u0000' }],
        ['an unknown zone', { timezone: 'Mars/Phobos' }],
        ['no zone', { timezone: '' }],
        ['an offset, which has no daylight saving time', { timezone: '+02:00' }],
      ])('%s', async (_, changes) => {
        const { schedules } = await bench.openWithClock()
        await expect(schedules.save(aSchedule(changes))).rejects.toMatchObject({ code: 'INVALID_CRON' })
        expect(await schedules.list()).toEqual([])
      })

      it.each<[string, Partial<Schedule>, string]>([
        ['a name with two colons', { name: 'a:b:c' }, 'INVALID_INPUT'],
        ['a long name', { name: 'n'.repeat(129) }, 'INVALID_INPUT'],
        ['a bad topic', { topic: 'no spaces' }, 'INVALID_TOPIC'],
        ['a payload that is not JSON', { payload: { n: Number.NaN } }, 'INVALID_PAYLOAD'],
        ['a bad option', { options: { priority: 99_999 } }, 'INVALID_PRIORITY'],
        ['an unknown policy', { missed: 'some' as 'one' }, 'INVALID_INPUT'],
        ['a moment for all ticks', { options: { runAt: new Date(0) } }, 'INVALID_INPUT'],
        ['a key for all ticks', { options: { idempotencyKey: 'k' } }, 'INVALID_INPUT'],
      ])('%s', async (_, changes, code) => {
        const { schedules } = await bench.openWithClock()
        await expect(schedules.save(aSchedule(changes))).rejects.toMatchObject({ code })
        expect(await schedules.list()).toEqual([])
      })
    })
  })
}
