import type { JobId } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import type { NewOutcome } from '../../src/portable/outcomes.ts'
import type { RunRef, Store } from '../../src/store.ts'
import { claimChildren, spawn } from './children.ts'
import {
  aJob,
  anError,
  Bench,
  claiming,
  claimOne,
  complete,
  type Dialect,
  MINUTE,
  read,
  WORKER,
} from './harness.ts'

const aStep = (name: string): NewOutcome => ({ key: `step:${name}`, kind: 'step', data: '{"result":1}' })
const asking = (name: string): NewOutcome => ({
  key: `ask:${name}`,
  kind: 'ask',
  data: JSON.stringify({ name, question: 'Ok?', schema: {}, role: 'operator' }),
})

/** A job that is requeued from one of its steps, or from the start. */
export function describeRequeueFrom(dialect: Dialect): void {
  describe('requeue from a step', () => {
    const bench = new Bench(dialect)

    const fail = (store: Store, { id, run }: RunRef) =>
      store.settle([{ id, run, kind: 'fail', error: anError }])
    const keysOf = async (store: Store, id: JobId) => (await store.durable.outcomes(id)).map(({ key }) => key)
    const again = (store: Store, id: JobId, step: string | null) =>
      store.requeueFrom({ id, step, by: 'ada' }).then(
        () => 'done',
        (error) => error.code,
      )

    /** A failed job that has recorded two steps, an answer, a signal and a child between them, and more after them. */
    async function failed(store: Store) {
      await store.enqueue([aJob({ maxRetries: 2 })])
      const run = await claimOne(store)
      const { id } = run
      const record = (...outcomes: NewOutcome[]) =>
        store.durable.record([{ id, run: run.run, after: 0, outcomes }], WORKER)
      await store.recordProgress([{ ...run, cursor: '{"page":3}', progress: '7' }], WORKER)
      await record(aStep('order'), asking('early'))
      await store.durable.answer({ id, name: 'early', value: '1', by: 'ben' })
      const [before] = await spawn(store, run, 1)
      await record(aStep('charge'), { key: 'sleep:settle', kind: 'timer' }, asking('late'), asking('open'))
      await store.durable.answer({ id, name: 'late', value: '1', by: 'ben' })
      await store.durable.signal({ id, name: 'bank', data: '1' })
      const [after] = await spawn(store, run, 1, { from: 1 })
      await record(aStep('mail'))
      await fail(store, run)
      return { id, before, after }
    }

    it('keeps what was recorded before the step, and forgets it and what followed', async () => {
      const store = await bench.openWithClock()
      const { id } = await failed(store)
      expect(await again(store, id, 'charge')).toBe('done')
      expect(await keysOf(store, id)).toEqual(['step:order', 'ask:early', 'spawned:spawn:child#1'])
      expect(await read(store, id)).toMatchObject({
        ...{ status: 'pending', run: 1, retries: 0, cursor: { page: 3 }, progress: 7, finishedAt: null },
      })
      expect((await store.events.list(id)).slice(-2)).toMatchObject([
        { type: 'requeued', data: { by: 'ada' } },
        { type: 'steps_forgotten', data: { by: 'ada', from: 'charge' } },
      ])
      const run = await claimOne(store)
      expect(run).toMatchObject({ id, run: 2 })
      const { recorded } = await store.durable.record(
        [{ id, run: run.run, after: 0, outcomes: [aStep('charge')] }],
        WORKER,
      )
      expect(recorded.get(id)?.at(-1)).toMatchObject({ key: 'step:charge', seq: 4 })
    })

    it('forgets everything, cursor and progress too, from the start', async () => {
      const store = await bench.openWithClock()
      const { id } = await failed(store)
      expect(await again(store, id, null)).toBe('done')
      expect(await keysOf(store, id)).toEqual([])
      expect(await read(store, id)).toMatchObject({ status: 'pending', cursor: null, progress: null })
      expect((await store.events.list(id)).at(-1)).toMatchObject({ data: { by: 'ada', from: null } })
      expect((await store.timeline(id))?.entries.filter(({ kind }) => kind === 'asked')).toEqual([])
    })

    it('asks again what was asked since, and nothing that was answered before', async () => {
      const store = await bench.openWithClock()
      const { id } = await failed(store)
      await again(store, id, 'charge')
      const run = await claimOne(store)
      const outcomes = [asking('early'), asking('late'), asking('open')]
      await store.durable.record([{ id, run: run.run, after: 0, outcomes }], WORKER)
      expect((await store.questions()).map(({ name }) => name).toSorted()).toEqual(['late', 'open'])
    })

    it('spawns anew what was spawned since, and leaves the earlier children alone', async () => {
      const store = await bench.openWithClock()
      const { id, before, after } = await failed(store)
      const [first, second] = await claimChildren(store)
      if (!first || !second) throw new Error('two children are due')
      for (const child of [first, second]) await fail(store, child)
      expect(await again(store, id, 'charge')).toBe('done')
      // The child that it keeps goes back with it, as by a requeue.
      expect((await read(store, String(before))).status).toBe('pending')
      expect((await read(store, String(after))).status).toBe('failed')
      const run = await claimOne(store)
      const [anew] = await spawn(store, run, 1, { from: 1 })
      expect(anew).not.toBe(after)
    })

    it('is refused for what is not finished, not there or not recorded, and changes nothing', async () => {
      const store = await bench.openWithClock()
      const { id } = await failed(store)
      const keys = await keysOf(store, id)
      expect(await again(store, id, 'chargé')).toBe('STEP_NOT_FOUND')
      expect(await again(store, '01900000-0000-7000-8000-000000000001', null)).toBe('JOB_NOT_FOUND')
      expect(await again(store, 'none', null)).toBe('JOB_NOT_FOUND')
      expect(await keysOf(store, id)).toEqual(keys)
      await again(store, id, 'mail')
      expect(await again(store, id, 'order')).toBe('INVALID_STATE')
      expect(await keysOf(store, id)).toContain('step:order')
    })

    it('is refused while another job holds its unique key, or its parent uses its result', async () => {
      const store = await bench.openWithClock()
      const unique = { key: 'order-7' }
      await store.enqueue([aJob({ unique })])
      const run = await claimOne(store)
      await store.durable.record([{ id: run.id, run: run.run, after: 0, outcomes: [aStep('a')] }], WORKER)
      await fail(store, run)
      await store.enqueue([aJob({ unique })])
      expect(await again(store, run.id, null)).toBe('UNIQUE_KEY_LIVE')
      expect(await keysOf(store, run.id)).toEqual(['step:a'])
      const parent = await claimOne(store)
      await spawn(store, parent, 1)
      const [child] = await claimChildren(store)
      if (!child) throw new Error('the child is due')
      await store.settle([complete(child, '7')])
      expect(await again(store, child.id, null)).toBe('INVALID_STATE')
      expect((await read(store, child.id)).result).toBe(7)
    })

    it('takes signals that were on their way with it', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const run = await claimOne(store)
      await store.durable.signal({ id: run.id, name: 'bank', data: '1' })
      await fail(store, run)
      await again(store, run.id, null)
      bench.clock.advance(MINUTE)
      await store.rescue(WORKER)
      expect(await keysOf(store, run.id)).toEqual([])
      expect((await store.claim(claiming())).jobs).toHaveLength(1)
    })
  })
}
