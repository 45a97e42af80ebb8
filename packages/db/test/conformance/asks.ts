import { describe, expect, it } from 'vitest'
import type { Asking, NewOutcome, SuspendedWait } from '../../src/portable/outcomes.ts'
import type { ClaimedJob, Store } from '../../src/store.ts'
import {
  aJob,
  anError,
  Bench,
  claiming,
  claimOne,
  complete,
  type Dialect,
  LEASE,
  MINUTE,
  OTHER_WORKER,
  read,
  WORKER,
} from './harness.ts'

const APPROVE = { name: 'approve', question: 'Refund 5 €?', schema: { type: 'boolean' }, role: 'operator' }
const KEY = 'ask:approve'
const wait: SuspendedWait = { kind: 'ask', name: 'approve', key: KEY }

const asking = (more: Partial<Asking> = {}): NewOutcome => ({
  key: KEY,
  kind: 'ask',
  data: JSON.stringify({ ...APPROVE, ...more }),
})
const timeout = (dueAt?: Date): NewOutcome => ({ key: KEY, kind: 'timeout', dueAt })

/** Questions of handlers, and people's answers. */
export function describeAsks(dialect: Dialect): void {
  describe('questions', () => {
    const bench = new Bench(dialect)

    const record = (store: Store, { id, run }: ClaimedJob, outcomes: readonly NewOutcome[], after = 0) =>
      store.durable.record([{ id, run, after, outcomes }], WORKER)

    async function asked(store: Store, more: Partial<Asking> = {}): Promise<ClaimedJob> {
      await store.enqueue([aJob()])
      const run = await claimOne(store)
      await record(store, run, [asking(more)])
      return run
    }

    async function suspended(store: Store, more: Partial<Asking> = {}): Promise<ClaimedJob> {
      const run = await asked(store, more)
      const { id } = run
      await store.settle([{ id, run: run.run, kind: 'suspend', waits: [wait], progressed: false }])
      return run
    }

    const answer = (store: Store, { id }: ClaimedJob, value = 'true', by = 'anna', key?: string) =>
      store.durable.answer({ id, name: 'approve', value, by, key })

    const namesOf = async (store: Store) => (await store.questions()).map(({ name }) => name)

    it('are listed while they are open, with everything that a form needs', async () => {
      const store = await bench.openWithClock()
      const { id, topic, queue } = await suspended(store, { delayMs: MINUTE, role: 'admin' })
      const now = await store.now()
      const question = {
        ...{ id, topic, queue, ...APPROVE, role: 'admin', refused: null },
        ...{ since: now, until: new Date(now.getTime() + MINUTE) },
      }
      expect(await store.questions()).toEqual([question])
      expect(await store.questions({ id, topic })).toEqual([question])
      expect(await store.questions({ topic: 'another' })).toEqual([])
      expect(await store.countQuestions()).toEqual({ at: now, count: 1 })
      expect((await read(store, id)).waits).toEqual({
        since: now.toISOString(),
        for: [{ kind: 'ask', name: 'approve', until: question.until.toISOString() }],
      })
    })

    it('wake the job with the first answer, and refuse the second', async () => {
      const store = await bench.openWithClock()
      const run = await suspended(store)
      expect((await read(store, run.id)).status).toBe('blocked')
      await answer(store, run)
      expect(await namesOf(store)).toEqual([])
      const resumed = await claimOne(store)
      expect(resumed.id).toBe(run.id)
      expect(await store.durable.outcomes(run.id)).toEqual([
        {
          key: KEY,
          seq: 1,
          kind: 'answer',
          name: 'approve',
          data: expect.objectContaining({ value: true, by: 'anna' }),
        },
      ])
      await expect(answer(store, run, 'false', 'ben')).rejects.toMatchObject({
        code: 'ALREADY_ANSWERED',
        details: { by: 'anna' },
      })
    })

    it('take an answer once that is sent twice with one key', async () => {
      const store = await bench.openWithClock()
      const run = await suspended(store)
      await answer(store, run, '{"b": 1, "a": 2}', 'anna', 'k1')
      await answer(store, run, '{"b":1,"a":2}', 'anna', 'k1')
      const others = [
        ['false', 'anna'],
        ['{"b":1,"a":2}', 'ben'],
      ] as const
      for (const [value, by] of others)
        await expect(answer(store, run, value, by, 'k1')).rejects.toMatchObject({ code: 'ALREADY_ANSWERED' })
      expect(await store.durable.outcomes(run.id)).toHaveLength(1)
    })

    it('let one of many people answer at once', async () => {
      const store = await bench.openWithClock()
      const run = await suspended(store)
      const tried = await Promise.allSettled(
        ['anna', 'ben', 'cleo'].map((by) => answer(store, run, 'true', by)),
      )
      const refused = tried.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
      expect(refused).toEqual(['ALREADY_ANSWERED', 'ALREADY_ANSWERED'])
      expect(await store.durable.outcomes(run.id)).toHaveLength(1)
    })

    it('are answered while the job runs: its next record says so, and its suspension ends at once', async () => {
      const store = await bench.openWithClock()
      const run = await asked(store)
      await answer(store, run)
      const { recorded } = await record(store, run, [timeout()])
      expect(recorded.get(run.id)).toMatchObject([{ key: KEY, kind: 'answer', data: { value: true } }])
      await store.settle([{ id: run.id, run: run.run, kind: 'suspend', waits: [wait], progressed: false }])
      expect((await store.claim(claiming())).jobs).toHaveLength(1)
    })

    it('refuse an answer that does not fit, before anything is written', async () => {
      const store = await bench.openWithClock()
      const { id } = await suspended(store)
      const check = ({ schema }: { schema: object }) => {
        throw new Error(`no ${JSON.stringify(schema)}`)
      }
      const given = { id, name: 'approve', value: '1', by: 'anna', check }
      await expect(store.durable.answer(given)).rejects.toThrow('no {"type":"boolean"}')
      expect(await namesOf(store)).toEqual(['approve'])
    })

    it('open again when the handler refuses the answer, which is kept for the story', async () => {
      const store = await bench.openWithClock()
      const run = await asked(store, { delayMs: MINUTE })
      const [before] = await store.questions()
      await answer(store, run, '12345678901234567890.5')
      await record(store, run, [asking({ refuses: 2, reason: 'too much', delayMs: 5 * MINUTE })], 2)
      expect(await store.questions()).toEqual([{ ...before, refused: 'too much' }])
      expect(await store.durable.outcomes(run.id)).toMatchObject([
        { kind: 'wait' },
        { key: 'refused:approve#2', kind: 'refused', data: { by: 'anna', reason: 'too much' } },
      ])
      await answer(store, run, 'false', 'ben')
      const { recorded } = await record(store, run, [], 2)
      expect(recorded.get(run.id)).toMatchObject([{ key: KEY, seq: 3, data: { value: false, by: 'ben' } }])
    })

    it('end with the timeout that is recorded, unless an answer came before', async () => {
      const store = await bench.openWithClock()
      const run = await asked(store, { delayMs: MINUTE })
      bench.clock.advance(MINUTE)
      await record(store, run, [timeout(await store.now())])
      expect(await namesOf(store)).toEqual([])
      await expect(answer(store, run)).rejects.toMatchObject({ code: 'QUESTION_TIMED_OUT' })
    })

    it('are asked anew by a requeued job whose question had timed out', async () => {
      const store = await bench.openWithClock()
      const run = await asked(store, { delayMs: MINUTE })
      bench.clock.advance(MINUTE)
      await record(store, run, [timeout()])
      await store.settle([complete(run)])
      await store.requeue([run.id], { by: 'anna' })
      const again = await claimOne(store)
      await record(store, again, [asking({ question: 'And now?', delayMs: MINUTE })])
      const now = await store.now()
      expect(await store.questions()).toMatchObject([
        { question: 'And now?', since: now, until: new Date(now.getTime() + MINUTE) },
      ])
    })

    it('are not asked by a run that is stale', async () => {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const run = await claimOne(store)
      bench.clock.advance(LEASE + 1)
      await store.claim(claiming({ worker: OTHER_WORKER }))
      const { stale } = await record(store, run, [asking()])
      expect(stale).toEqual([{ id: run.id, run: run.run }])
      expect(await namesOf(store)).toEqual([])
    })

    it('of jobs that have ended are not listed, and tell who answers why not', async () => {
      const store = await bench.openWithClock()
      const run = await suspended(store)
      await store.cancel([run.id], { by: 'anna' })
      expect(await namesOf(store)).toEqual([])
      expect(await store.countQuestions()).toMatchObject({ count: 0 })
      await expect(answer(store, run)).rejects.toMatchObject({ code: 'JOB_FINISHED' })
      await expect(
        answer(store, { ...run, id: run.id.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')) }),
      ).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
      await expect(answer(store, { ...run, id: 'none' })).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
    })

    it('that were never asked are not answered, and signals answer none', async () => {
      const store = await bench.openWithClock()
      const run = await suspended(store)
      const other = { id: run.id, name: 'other', value: '1', by: 'anna' }
      await expect(store.durable.answer(other)).rejects.toMatchObject({ code: 'NOT_ASKED' })
      await store.durable.signal({ id: run.id, name: 'approve', data: 'true' })
      expect(await namesOf(store)).toEqual(['approve'])
      expect((await store.claim(claiming())).jobs).toEqual([])
    })

    it('go with their job', async () => {
      const store = await bench.openWithClock()
      const run = await asked(store)
      await store.settle([{ id: run.id, run: run.run, kind: 'fail', error: anError }])
      await store.delete([run.id], { by: 'anna' })
      await expect(answer(store, run)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
    })
  })
}
