import { describe, expect, it } from 'vitest'
import type { NewOutcome } from '../../src/portable/outcomes.ts'
import { awaiting, claimChildren, spawn, suspend } from './children.ts'
import { aJob, anError, Bench, claimOne, complete, type Dialect, MINUTE, WORKER } from './harness.ts'

const ASK: NewOutcome = {
  key: 'ask:approve',
  kind: 'ask',
  data: JSON.stringify({ name: 'approve', question: 'Refund 5 €?', schema: {}, role: 'operator' }),
}

const step = (name: string, result: unknown): NewOutcome => ({
  key: `step:${name}`,
  kind: 'step',
  data: JSON.stringify({ result }),
})

/** The story of a job, from its row, outcomes, questions and events. */
export function describeTimeline(dialect: Dialect): void {
  describe('timeline', () => {
    const bench = new Bench(dialect)

    async function started() {
      const store = await bench.openWithClock()
      await store.enqueue([aJob()])
      const { id, run } = await claimOne(store)
      const record = (...outcomes: NewOutcome[]) =>
        store.durable.record([{ id, run, after: 0, outcomes }], WORKER)
      const told = async () => {
        const story = await store.timeline(id)
        return story?.entries.map(({ kind, name, data }) => [kind, name, data]) ?? []
      }
      return { store, id, run, record, told }
    }

    it('tells steps, waits, signals, questions, answers and events in the order in which they happened', async () => {
      const { store, id, run, record, told } = await started()
      const minute = () => bench.clock.advance(MINUTE)
      await record(step('order', { cents: 500 }), { key: 'since:fraud', kind: 'since', data: 'true' })
      minute()
      await store.events.append(id, null, [
        { type: 'step_finished', data: { name: 'order' } },
        { type: 'log', data: { message: 'hello' } },
      ])
      minute()
      await record({ key: 'sleep:settle', kind: 'timer' }, { key: 'receive:bank#1', kind: 'timeout' }, ASK)
      minute()
      await store.durable.signal({ id, name: 'bank', data: '{"ok":true}', key: 'a:b' })
      minute()
      const waits = [{ kind: 'ask', name: 'approve', key: 'ask:approve', delayMs: MINUTE }] as const
      await store.settle([{ id, run, kind: 'suspend', waits, progressed: true }])
      const until = new Date((await store.now()).getTime() + MINUTE)
      const before = [
        ['created', null, null],
        ['step', 'order', { cents: 500 }],
        ['event', 'log', { message: 'hello' }],
        ['slept', 'settle', null],
        ['timeout', 'bank', null],
        ['asked', 'approve', { question: 'Refund 5 €?' }],
        ['signal', 'bank', { ok: true }],
      ]
      const withoutRuns = async () => (await told()).filter(([, name]) => !String(name).startsWith('run_'))
      expect(await withoutRuns()).toEqual([...before, ['waiting', 'approve', { kind: 'ask' }]])
      expect((await store.timeline(id))?.entries.at(-1)).toMatchObject({ until })
      await store.durable.answer({ id, name: 'approve', value: 'true', by: 'anna', key: 'k' })
      expect((await store.timeline(id))?.entries.at(-1)).toMatchObject({
        ...{ kind: 'answer', name: 'approve', by: 'anna', data: { value: true } },
      })
      const resumed = await claimOne(store)
      await store.settle([complete(resumed)])
      expect((await withoutRuns()).slice(before.length)).toEqual([
        ['answer', 'approve', { value: true }],
        ['finished', 'completed', null],
      ])
      expect((await store.timeline(id))?.isComplete).toBe(true)
    })

    it('tells plans, nodes and tools once: by their events, which say more than their outcomes', async () => {
      const { store, id, record, told } = await started()
      await store.events.append(id, null, [
        { type: 'plan_generated', data: { name: 'plan', plan: ['refund'] } },
        { type: 'tool_called', data: { name: 'refund', args: { cents: 5 } } },
        { type: 'tool_returned', data: { name: 'refund', error: { class: 'Error', message: 'busy' } } },
        { type: 'tool_called', data: { name: 'charge', args: { cents: 5 } } },
        { type: 'tool_returned', data: { name: 'charge', result: 'ok' } },
        { type: 'node_finished', data: { name: 'write', error: { class: 'Error', message: 'full' } } },
      ])
      bench.clock.advance(MINUTE)
      // The failed attempt of refund is in the events; that it returned in the end is not.
      const failed = { key: 'step:write', kind: 'step_failed', data: '{"message":"full"}' } as const
      await record(step('plan', ['refund']), step('refund', 'late'), step('charge', 'ok'), failed)
      expect(
        (await told()).map(([kind, name, data]) => [kind, name, (data as { name?: string })?.name]),
      ).toEqual([
        ['created', null, undefined],
        ['event', 'plan_generated', 'plan'],
        ['event', 'tool_called', 'refund'],
        ['event', 'tool_returned', 'refund'],
        ['event', 'tool_called', 'charge'],
        ['event', 'tool_returned', 'charge'],
        ['event', 'node_finished', 'write'],
        ['step', 'refund', undefined],
      ])
    })

    it('tells which jobs were made, and which of the awaited ones did not complete', async () => {
      const { store, id, run, told } = await started()
      const [done, lost] = await spawn(store, { id, run }, 2)
      bench.clock.advance(MINUTE)
      await store.settle([suspend({ id, run }, awaiting([done ?? '', lost ?? '']))])
      expect((await told()).at(-1)).toMatchObject(['waiting', expect.anything(), { kind: 'children' }])
      const [first, second] = await claimChildren(store)
      if (!first || !second) throw new Error('two children are due')
      const failed = { id: second.id, run: second.run, kind: 'fail', error: anError } as const
      await store.settle([complete(first), failed])
      const kinds = ['spawned', 'children']
      expect((await told()).filter(([kind]) => kinds.includes(String(kind)))).toEqual([
        ['spawned', null, { jobs: [expect.objectContaining({ id: done }), { name: 'child#2', id: lost }] }],
        ['children', null, { failed: [{ id: lost, status: 'failed' }] }],
      ])
    })

    it('keeps the newest 1,000, leaves large data out, and says both', async () => {
      const { store, id, record } = await started()
      await record(...Array.from({ length: 1_001 }, (_, n) => step(`s${n}`, n)))
      bench.clock.advance(MINUTE)
      await record(step('large', 'x'.repeat(20_000)))
      const story = await store.timeline(id)
      expect(story?.isComplete).toBe(false)
      expect(story?.entries.slice(0, 2)).toMatchObject([{ kind: 'created' }, { name: 's2', data: 2 }])
      expect(story?.entries).toHaveLength(1_001)
      expect(story?.entries.at(-1)).toMatchObject({ name: 'large', data: null, size: 20_013 })
    })

    it('is null for a job that does not exist', async () => {
      const store = await bench.openWithClock()
      expect(await store.timeline('01900000-0000-7000-8000-000000000001')).toBeNull()
      expect(await store.timeline('none')).toBeNull()
    })
  })
}
