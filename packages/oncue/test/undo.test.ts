import { expect, test } from 'vitest'
import { describeBoth, run } from './harness.ts'

describeBoth('a job that is being undone', (bench) => {
  const WORKER = '01900000-0000-7000-8000-00000000000a'

  test('is shown as undoing, with how it will end, and not cancelled again', async () => {
    const { id } = await bench.json(['enqueue', 'order', '{}'])
    const request = { queues: ['default'], limit: 1, worker: WORKER, leaseMs: 60_000 }
    const { jobs } = await bench.store.claim(request)
    const outcomes = [{ key: 'undo:refund', kind: 'undo' }] as const
    await bench.store.durable.record(jobs.map(({ id, run }) => ({ id, run, after: 0, outcomes })))
    const waits = [{ kind: 'signal', name: 'bank', key: 'receive:bank#1', after: 0 }] as const
    await bench.store.settle(
      jobs.map(({ id, run }) => ({ id, run, kind: 'suspend', waits, progressed: true })),
    )
    const env = { DATABASE_URL: bench.url }
    await run(['cancel', id], { env })
    const { stdout } = await run(['show', id], { env })
    expect(stdout).toMatch(/status +undoing/)
    expect(stdout).toMatch(/undoing +since .*, then cancelled/)
    expect(stdout).toContain('Being undone: will be cancelled')
    expect(stdout).toContain('undo refund registered')
    expect(stdout).not.toContain('waits for signal')
    expect((await run(['list'], { env })).stdout).toMatch(/undoing/)
    const again = await run(['cancel', id], { env })
    expect(again.stdout + again.stderr).toContain('being undone')
  })
})
