import { randomUUID } from 'node:crypto'
import { prepareJob } from '@oncue/core'
import { prepareOwnJob } from '@oncue/core/internal'
import { expect, test } from 'vitest'
import { describeBoth } from './harness.ts'

describeBoth('doctor', (bench) => {
  test('doctor reports which worker is silent, and that its queues are not served', async () => {
    await bench.attend({ pid: 4711, queues: ['default'] }, 90_000)
    await bench.add()
    const found = await bench.diagnose()
    expect(found('workers')).toEqual({
      check: 'workers',
      status: 'warn',
      found: expect.stringMatching(/^0 workers with 0 slots; missing: web-1 pid 4711, seen 1m 3\ds ago$/),
      advice: expect.stringContaining('No jobs run: start one'),
    })
    expect(found('queues')).toMatchObject({ status: 'warn', found: 'no worker serves default (1 waiting)' })
    // Only served queues are reported as late.
    expect(found('lateness')).toMatchObject({ status: 'ok' })
    await bench.attend({ pid: 4712, queues: ['default'] }, 0)
    const later = await bench.diagnose()
    expect(later('workers')).toMatchObject({
      status: 'warn',
      found: expect.stringContaining('1 worker with 10 slots; missing: web-1 pid 4711'),
      advice: expect.stringContaining('The other workers take over their jobs'),
    })
    expect(later('queues')).toMatchObject({ status: 'ok' })
  })

  test("doctor does not advise to cancel Oncue's own notifications, which no worker announces", async () => {
    await bench.store.enqueue([prepareOwnJob('oncue:notify', {}, { queue: 'oncue' })])
    expect((await bench.diagnose())('topics')).toMatchObject({ status: 'ok' })
  })

  test('doctor reports services with different schemas of a topic', async () => {
    expect((await bench.diagnose())('schemas')).toMatchObject({ status: 'ok' })
    const info = { host: 'web-1', pid: 1, queues: ['default'], concurrency: 1, version: '0' }
    for (const [service, input] of [
      ['billing', { type: 'object' }],
      ['reports', { type: 'string' }],
    ] as const) {
      const worker = randomUUID()
      await bench.store.announce([{ topic: 'report', input, output: {}, policy: {} }], { worker, service })
      await bench.store.attend({ id: worker, ...info })
    }
    expect((await bench.diagnose())('schemas')).toMatchObject({
      status: 'warn',
      found: 'different schemas: report: billing (1 worker) and reports (1 worker)',
      advice: expect.stringContaining('Rename the topic'),
    })
  })

  test('doctor reports which queue is late, but not a paused one', async () => {
    const past = await bench.storeOf(10 * 60_000)
    for (const queue of ['slow', 'paused']) await past.enqueue([prepareJob('mail', {}, { queue })])
    await bench.add('mail', { queue: 'quick' })
    await bench.attend({ pid: 4711, queues: ['slow', 'paused', 'quick'] }, 0)
    await bench.store.pause('paused')
    const found = await bench.diagnose()
    expect(found('workers')).toMatchObject({ status: 'ok', found: '1 worker with 10 slots' })
    expect(found('lateness')).toMatchObject({
      status: 'warn',
      found: expect.stringMatching(/^slow is 10m.* late$/),
      advice: expect.stringContaining('cannot keep up'),
    })
  })

  test('doctor reports a healthy database as healthy, and queues that are not served', async () => {
    await bench.add('mail', { queue: 'lonely' })
    await bench.store.pause('high', 'ada')
    expect(await bench.json(['doctor'])).toMatchObject({ healthy: true })
    const of = await bench.diagnose()
    for (const check of ['database', 'migrations', 'version', 'clock', 'claim plan']) {
      expect(of(check)).toMatchObject({ status: 'ok', advice: null })
    }
    expect(of('workers')).toMatchObject({ status: 'warn', found: 'none' })
    expect(of('queues')).toMatchObject({ status: 'warn', found: 'no worker serves lonely (1 waiting)' })
    expect(of('topics')).toMatchObject({ status: 'warn', found: 'no worker has ever announced mail' })
    expect(of('paused')).toMatchObject({
      status: 'warn',
      found: expect.stringContaining('high (by ada, 0 waiting)'),
    })
  })
})
