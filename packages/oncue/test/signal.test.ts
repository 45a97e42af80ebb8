import { expect, test } from 'vitest'
import { call, describeBoth } from './harness.ts'

describeBoth('signal', (bench) => {
  const WORKER = '01900000-0000-7000-8000-00000000000a'

  async function suspended(): Promise<string> {
    const { id } = await bench.json(['enqueue', 'order', '{}'])
    const { jobs } = await bench.store.claim({
      queues: ['default'],
      limit: 1,
      worker: WORKER,
      leaseMs: 60_000,
    })
    const waits = [{ kind: 'signal', name: 'bank', key: 'receive:bank#1', after: 0 }] as const
    await bench.store.settle(
      jobs.map(({ id, run }) => ({ id, run, kind: 'suspend', waits, progressed: true })),
    )
    return id
  }

  test('signal resumes a job, which show says that it waits for', async () => {
    const id = await suspended()
    const shown = await bench.text('show', id)
    expect(shown).toMatch(/status +suspended/)
    expect(shown).toMatch(/waits for +signal bank; since /)
    // Said once, and not when it was due before it was suspended.
    expect(shown).not.toMatch(/Suspended: |^due /m)
    expect(await bench.text('list')).toMatch(/suspended +order .* 1 +waits for signal bank$/m)
    expect(await bench.text('list', '--status', 'suspended')).toContain(id)
    expect(await bench.text('list', '--status', 'pending,blocked')).toBe('no jobs\n')
    expect(await bench.text('stats')).toMatch(/^suspended +1$/m)
    expect(await bench.text('queues')).toMatch(/ SUSPENDED /)
    expect(await bench.text('tree', id)).toContain(`${id}  waits for signal bank`)
    expect(await bench.json(['signal', id, 'bank', '{"ok":true}'])).toEqual({ id, name: 'bank' })
    expect(await bench.store.get(id)).toMatchObject({ status: 'pending', waits: null })
    expect(await bench.store.durable.outcomes(id)).toMatchObject([{ name: 'bank', data: { ok: true } }])
  })

  test('signal refuses what the topic does not name, data that does not fit, and finished jobs', async () => {
    const id = await suspended()
    const signals = { bank: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] } }
    await bench.store.announce([{ topic: 'order', input: {}, output: {}, policy: { signals } }])
    const failed = async (...args: string[]) => (await call('signal', ...args, '--url', bench.url)).stderr
    expect(await failed(id, 'visa')).toContain('order has no signal "visa": it has "bank"')
    expect(await failed(id, 'bank', '{}')).toContain('signal.ok: is missing (schema of order)')
    expect(await failed(id, 'bank', '{')).toContain('the data of the signal')
    await bench.store.cancel([id])
    expect(await failed(id, 'bank', '{"ok":true}')).toContain('has finished')
  })
})
