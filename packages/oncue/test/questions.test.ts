import { expect, test } from 'vitest'
import { call, describeBoth } from './harness.ts'

describeBoth('questions', (bench) => {
  const SCHEMA = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }

  async function asking(): Promise<string> {
    const { id } = await bench.json(['enqueue', 'order', '{}'])
    const worker = '01900000-0000-7000-8000-00000000000a'
    const { jobs } = await bench.store.claim({ queues: ['default'], limit: 1, worker, leaseMs: 60_000 })
    const data = JSON.stringify({ name: 'approve', question: 'Refund 5 €?', schema: SCHEMA, role: 'admin' })
    const outcomes = [{ key: 'ask:approve', kind: 'ask', data }] as const
    await bench.store.durable.record(jobs.map(({ id, run }) => ({ id, run, after: 0, outcomes })))
    const waits = [{ kind: 'ask', name: 'approve', key: 'ask:approve' }] as const
    await bench.store.settle(
      jobs.map(({ id, run }) => ({ id, run, kind: 'suspend', waits, progressed: true })),
    )
    return id
  }

  test('are listed, shown and answered once', async () => {
    expect(await bench.text('questions')).toContain('no open questions')
    const id = await asking()
    expect(await bench.text('questions', '--topic', 'order')).toMatch(/approve +order .*Refund 5 €\?/)
    expect(await bench.json(['questions'])).toMatchObject([{ id, name: 'approve', schema: SCHEMA }])
    const before = await bench.text('show', id)
    expect(before).toMatch(/waits for +an answer to approve; since /)
    expect(before).toContain('asked approve: Refund 5 €?')
    expect(await bench.text('tree', id)).toContain('waits for an answer to approve')
    const failed = async (...args: string[]) => (await call('answer', id, ...args, '--url', bench.url)).stderr
    expect(await failed('approve', '{}')).toContain('answer.ok: is missing (schema of order)')
    expect(await failed('approve', '{')).toContain('the answer')
    const given = ['answer', id, 'approve', '{"ok":true}', '--by', 'anna']
    expect(await bench.json(given)).toEqual({ id, name: 'approve' })
    expect(await failed('approve', '{"ok":true}')).toContain('anna has answered')
    expect(await bench.text('show', id)).toContain('anna answered approve: {"ok":true}')
  })
})
