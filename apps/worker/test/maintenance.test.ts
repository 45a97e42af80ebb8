import { randomUUID } from 'node:crypto'
import { prepareJob } from '@oncue/core'
import type { Store } from '@oncue/db'
import { TestClock } from '@oncue/db/conformance'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { createMaintenance, type MaintenanceOptions, toRules } from '../src/maintenance/maintenance.ts'
import { type Bench, describeBoth, TestLog, until } from './harness.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const TERM = 45_000

/** Polls all the time; only the term depends on the store's clock. */
const HASTY = { term: TERM, try: 5, look: 5, rollUp: 5, prune: 5 }

const LEADS = 'this worker is now the leader for maintenance'
const LEADS_NO_LONGER = 'this worker is no longer the leader for maintenance'

function maintain(store: Store, options: MaintenanceOptions = {}) {
  const log = new TestLog()
  const worker = randomUUID()
  const maintenance = createMaintenance({ timing: HASTY, ...options, store, worker, log })
  maintenance.start()
  return { worker, log, stop: () => maintenance.stop() }
}

describeBoth('the leader', (bench) => {
  let clock: TestClock
  beforeEach(() => {
    clock = new TestClock()
  })
  const open = (on: Bench) => on.open({ clock: clock.now })

  it('is one of the candidates, and the others wait', async () => {
    const stores = await Promise.all([1, 2, 3].map(() => open(bench)))
    const tries = stores.map((store) => vi.spyOn(store, 'lead'))
    const all = stores.map((store) => maintain(store))
    for (let times = 5; times <= 20; times += 5) {
      clock.advance(TERM / 10)
      await until(() => tries.every(({ mock }) => mock.settledResults.length >= times))
    }
    expect(all.filter(({ log }) => log.of('info').includes(LEADS))).toHaveLength(1)
    for (const { stop } of all) await stop()
  })

  it('that steps down is replaced at once', async () => {
    const first = maintain(await open(bench))
    await until(() => first.log.of('info').includes(LEADS))
    const second = maintain(await open(bench))
    await first.stop()
    await until(() => second.log.of('info').includes(LEADS))
    expect(first.log.of('info')).toContain(LEADS_NO_LONGER)
    await second.stop()
    await second.stop()
  })

  it('that falls silent is replaced when its term is over', async () => {
    const store = await open(bench)
    await store.lead('maintenance', randomUUID(), TERM)
    const next = maintain(store)
    clock.advance(TERM - 1)
    expect(await store.lead('maintenance', 'a third', TERM)).toBe(false)
    clock.advance(1)
    await until(() => next.log.of('info').includes(LEADS))
    await next.stop()
  })

  it('stops leading when another worker has taken over meanwhile', async () => {
    const store = await open(bench)
    const first = maintain(store)
    await until(() => first.log.of('info').includes(LEADS))
    // As after a pause of the whole process.
    await until(async () => {
      await store.stepDown('maintenance', first.worker)
      return store.lead('maintenance', 'another', TERM)
    })
    await until(() => first.log.of('info').includes(LEADS_NO_LONGER))
    await first.stop()
    expect(await store.lead('maintenance', 'a third', TERM)).toBe(false)
  })

  it('survives a clock that is moved in both directions', async () => {
    const leader = maintain(await open(bench))
    await until(() => leader.log.of('info').includes(LEADS))
    const store = await open(bench)
    for (const ms of [DAY, -2 * DAY, DAY]) {
      clock.advance(ms)
      await store.enqueue([prepareJob('tidy', null)])
      const { jobs } = await store.claim({
        queues: ['default'],
        limit: 9,
        worker: randomUUID(),
        leaseMs: DAY,
      })
      await store.settle(jobs.map((job) => ({ ...job, kind: 'complete' })))
    }
    await leader.stop()
    expect(leader.log.of('error')).toEqual([])
  })

  it('logs once that it cannot reach the database, and continues when it can', async () => {
    const store = await open(bench)
    const lead = vi.spyOn(store, 'lead')
    for (let failures = 0; failures < 3; failures++) lead.mockRejectedValueOnce(new Error('gone'))
    const leader = maintain(store)
    await until(() => leader.log.of('info').includes(LEADS))
    await leader.stop()
    expect(leader.log.of('error')).toEqual(['leading maintenance failed; retrying until it succeeds'])
  })
})

describeBoth('a leader that is killed', (bench) => {
  it('is noticed, and another leads long before the term ends', async () => {
    const child = await bench.spawn({ maintenance: { timing: { try: 50 } } })
    const store = await bench.open()
    await until(async () => {
      const isFree = await store.lead('maintenance', 'nobody', TERM)
      if (isFree) await store.stepDown('maintenance', 'nobody')
      return !isFree
    })
    await child.kill()
    const killedAt = performance.now()
    const log = new TestLog()
    await bench.start({ store, workers: { noop: () => null }, log, maintenance: { timing: { try: 50 } } })
    await until(() => log.of('info').includes(LEADS))
    expect(performance.now() - killedAt).toBeLessThan(TERM / 2)
  })
})

describeBoth('the duties of the leader', (bench) => {
  let clock: TestClock
  let store: Store
  beforeEach(async () => {
    clock = new TestClock()
    store = await bench.open({ clock: clock.now })
  })

  async function finish(topic: string, kind: 'complete' | 'fail' | 'cancel', count = 1): Promise<void> {
    await store.enqueue(Array.from({ length: count }, () => prepareJob(topic, null)))
    const error = { class: 'Error', message: 'no', fingerprint: 'f' }
    const claim = { queues: ['default'], limit: count, worker: randomUUID(), leaseMs: DAY }
    const { jobs } = await store.claim(claim)
    await store.settle(jobs.map(({ id, run }) => ({ id, run, kind, error })))
  }
  const finished = async () => {
    const { completed, failed, cancelled } = await store.stats()
    return { completed, failed, cancelled }
  }

  it('remove finished jobs after their retention', async () => {
    await finish('tidy', 'complete')
    await finish('tidy', 'fail')
    await finish('tidy', 'cancel')
    const { stop } = maintain(store)
    const after = async (days: number) => {
      clock.advance(days * DAY)
      await finish('tidy', 'complete')
    }
    await after(6.9)
    expect(await finished()).toEqual({ completed: 2, failed: 1, cancelled: 1 })
    await after(0.2)
    await expect.poll(finished).toEqual({ completed: 2, failed: 1, cancelled: 1 })
    await after(23)
    await expect.poll(finished).toEqual({ completed: 1, failed: 1, cancelled: 0 })
    await after(60)
    await expect.poll(finished).toEqual({ completed: 1, failed: 0, cancelled: 0 })
    await stop()
  })

  it('keep jobs for as long as configured, or for ever', async () => {
    await finish('tidy', 'complete')
    await finish('tidy', 'fail')
    const { stop } = maintain(store, { retention: { completed: MINUTE, failed: Number.POSITIVE_INFINITY } })
    clock.advance(1_000 * DAY)
    await expect.poll(finished).toEqual({ completed: 0, failed: 1, cancelled: 0 })
    await stop()
  })

  it('forgets workers that ended a week ago, also where jobs are kept for ever', async () => {
    const info = { host: 'a', pid: 1, queues: ['default'], concurrency: 1, version: '1' }
    await (await store.attend({ id: randomUUID(), ...info })).leave()
    const forever = Number.POSITIVE_INFINITY
    const { stop } = maintain(store, {
      retention: { completed: forever, failed: forever, cancelled: forever },
    })
    clock.advance(6.9 * DAY)
    const last = randomUUID()
    await (await store.attend({ id: last, ...info })).leave()
    const ended = async () => (await store.workers({ ended: true })).map(({ id }) => id)
    expect(await ended()).toHaveLength(2)
    clock.advance(0.2 * DAY)
    await expect.poll(ended).toEqual([last])
    await stop()
  })

  it('removes as many as there are, batch by batch', async () => {
    await finish('tidy', 'complete', 2_500)
    clock.advance(8 * DAY)
    const log = new TestLog()
    const timing = { ...HASTY, prune: DAY }
    const maintenance = createMaintenance({ timing, store, worker: randomUUID(), log })
    maintenance.start()
    await expect.poll(finished).toEqual({ completed: 0, failed: 0, cancelled: 0 })
    await until(() => log.of('debug').includes('pruned finished jobs'))
    expect(log.lines).toContainEqual(
      expect.objectContaining({ fields: { status: 'completed', pruned: 2_500 } }),
    )
    await maintenance.stop()
  })

  it('roll up the counts of settles', async () => {
    const rollUp = vi.spyOn(store, 'rollUp')
    await finish('tidy', 'complete', 20)
    const before = await store.stats()
    const { stop } = maintain(store)
    await until(() => rollUp.mock.settledResults.some(({ value }) => Number(value) > 0))
    await stop()
    expect(await store.rollUp()).toBe(0)
    expect(await store.stats()).toEqual(before)
  })
})

describe('retention', () => {
  it('is a week for completed jobs, and longer for the others', () => {
    expect(toRules()).toEqual([
      ['completed', 7 * DAY],
      ['cancelled', 30 * DAY],
      ['failed', 90 * DAY],
    ])
  })

  it.each([-1, Number.NaN])('is refused when it is %d', (completed) => {
    expect(() => toRules({ completed })).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
  })
})
