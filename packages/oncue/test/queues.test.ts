import { prepareJob } from '@oncue/core'
import { expect, test } from 'vitest'
import { call, describeBoth, WORKER } from './harness.ts'

describeBoth('queues', (bench) => {
  test.each([
    ['5/s', 1_000, 'at most 5 starts per second'],
    ['5/sec', 1_000, 'at most 5 starts per second'],
    ['5/min', 60_000, 'at most 5 starts per minute'],
    ['5/1m', 60_000, 'at most 5 starts per minute'],
    ['5/10s', 10_000, 'at most 5 starts per 10s'],
    ['5/1.5h', 5_400_000, 'at most 5 starts per 1h 30m'],
    ['5/day', 86_400_000, 'at most 5 starts per day'],
  ])('a rate of %s is 5 in %i ms', async (rate, intervalMs, said) => {
    expect(await bench.text('queues', 'limit', 'mail', '--rate', rate)).toBe(`mail: ${said}\n`)
    expect(await bench.store.queues()).toMatchObject([{ limit: { rate: { count: 5, intervalMs } } }])
  })

  test('queues are listed, paused, resumed and limited', async () => {
    await bench.add('mail', { queue: 'high' })
    expect(await bench.json(['queues'])).toMatchObject([
      { queue: 'high', waiting: 1, paused: null, limit: null },
    ])
    await bench.json(['queues', 'pause', 'high'])
    await bench.json(['queues', 'limit', 'high', '--running', '5', '--rate', '100/1m'])
    expect(await bench.json(['queues', 'list'])).toMatchObject([
      {
        queue: 'high',
        paused: { by: expect.stringContaining('@') },
        limit: { maxRunning: 5, rate: { count: 100, intervalMs: 60_000 } },
      },
    ])
    await bench.json(['queues', 'resume', 'high'])
    await bench.json(['queues', 'limit', 'high', '--off'])
    expect(await bench.store.queues()).toMatchObject([{ paused: null, limit: null }])
    expect(await bench.json(['queues', 'limit', 'high'], 2)).toMatchObject({
      error: { code: 'INVALID_INPUT' },
    })
  })

  test('a queue that nothing uses can be paused and limited, with a note', async () => {
    const note = 'note: no jobs or workers use queue '
    const change = (...args: string[]) => call('queues', ...args, '--url', bench.url)
    expect((await change('pause', 'nope')).stderr).toContain(`${note}nope\n`)
    expect((await change('limit', 'none', '--running', '5')).stderr).toContain(`${note}none\n`)
    await bench.add('mail', { queue: 'used' })
    await bench.attend({ pid: 1, queues: ['served'] }, 0)
    for (const queue of ['used', 'served'])
      expect((await change('pause', queue)).stderr).not.toContain('note:')
  })

  test('resuming a queue says whether it was paused', async () => {
    await bench.store.pause('mail', 'ada')
    expect(await bench.text('queues', 'resume', 'mail')).toBe('mail is resumed\n')
    expect(await bench.text('queues', 'resume', 'mail')).toBe('mail was not paused\n')
  })

  test('a queue without a worker is stalled, and one whose jobs wait for long is late', async () => {
    await bench.add('mail', { queue: 'lonely' })
    await bench.attend({ pid: 1, queues: ['stuck', 'slow', 'fine'] }, 0)
    const past = await bench.storeOf(7 * 60_000)
    for (const queue of ['stuck', 'slow', 'slow'])
      await past.enqueue([prepareJob('mail', {}, { queue, runAt: await past.now() })])
    await bench.add('mail', { queue: 'fine' })
    const claim = { queues: ['slow'], limit: 1, worker: WORKER, leaseMs: 30_000 }
    const { jobs } = await bench.store.claim(claim)
    await bench.store.settle(jobs.map(({ id, run }) => ({ id, run, kind: 'complete', result: null })))
    const text = await bench.text('queues')
    expect(text).toMatch(/ THROTTLED /)
    expect(text).toMatch(/^lonely .* stalled: no worker$/m)
    expect(text).toMatch(/^stuck .* stalled$/m)
    expect(text).toMatch(/^slow .* late$/m)
    expect(text).toMatch(/^fine .* ago$/m)
    const states = (await bench.json(['queues'])).map(({ state }: { state: string | null }) => state)
    expect(states).toEqual([null, 'stalled', 'late', 'stalled'])
  })

  test('a queue whose backlog does not shrink says so', async () => {
    await bench.add('mail', { queue: 'high' })
    const gauge = { waiting: 1, running: 0, oldestMs: 0, workers: 1, slots: 2 }
    const minute = new Date((await bench.store.now()).getTime() - 240_000)
    await bench.store.gauges.record({ minute, whole: gauge, queues: new Map([['high', gauge]]) })
    expect(await bench.text('queues')).toMatch(/^high .* not shrinking /m)
    expect(await bench.json(['queues'])).toMatchObject([{ drainMs: null }])
  })

  test('durations have one form in the terminal', async () => {
    await bench.add('mail', { queue: 'mail' })
    await bench.store.pause('mail', 'ada', 30 * 60_000)
    expect(await bench.text('queues', 'explain', 'mail')).toMatch(
      /^Queue mail is paused by ada, for another 30m$/m,
    )
  })

  test('a queue whose backlog shrinks shows when it will be empty', async () => {
    await bench.add('mail', { queue: 'high' })
    const gauge = { waiting: 3, running: 0, oldestMs: 0, workers: 1, slots: 2 }
    const minute = new Date((await bench.store.now()).getTime() - 240_000)
    await bench.store.gauges.record({ minute, whole: gauge, queues: new Map([['high', gauge]]) })
    // Two of three jobs finished in 4 min.
    const [{ drainMs }] = await bench.json(['queues'])
    expect(drainMs).toBeGreaterThanOrEqual(120_000)
    expect(await bench.text('queues')).toMatch(/^high .* 2m/m)
    await bench.store.pause('high', 'ada')
    expect(await bench.json(['queues'])).toMatchObject([{ drainMs: null }])
  })

  test('a queue says why its jobs wait', async () => {
    expect(await bench.text('queues', 'explain', 'mail')).toBe(
      'nothing waits\nThere is no queue mail: it has had no jobs, and no worker serves it\n',
    )
    await bench.add('mail', { queue: 'mail' })
    await bench.store.pause('mail', 'ada')
    expect(await bench.text('queues', 'explain', 'mail')).toBe(
      '1 job waits\nQueue mail was paused by ada, no end set\nNo live worker serves queue mail\n',
    )
    expect(await bench.json(['queues', 'explain', 'mail'])).toMatchObject({ waiting: 1, drain: null })
  })

  test('workers that stopped are listed on request', async () => {
    const id = '3b7d4e0e-6a53-4c7f-9d39-0f6f1d1f7a01'
    const info = { host: 'web-1', pid: 42, queues: ['mail'], concurrency: 4, version: '1.0.0' }
    const presence = await bench.store.attend({ id, ...info })
    expect(await bench.text('workers')).toMatch(/web-1 +42 +1\.0\.0 +0\/4 +mail/)
    await presence.leave()
    expect(await bench.text('workers')).toBe('no workers\n')
    expect(await bench.text('workers', '--ended')).toMatch(/web-1 .* stopped \S+ ago/)
    expect(await bench.json(['workers', '--ended'])).toMatchObject([{ id, ended: { how: 'stopped' } }])
  })

  test('a queue is paused for a while', async () => {
    expect(await bench.text('queues', 'pause', 'mail', '--for', '30m')).toBe(
      'mail is paused for 30m: running jobs continue, no new ones start\n',
    )
    expect(await bench.text('queues')).toMatch(/mail .* paused by \S+, ends in (30|29)m/)
  })

  test('a queue that is limited to 0 is shown as such by queues, doctor and top', async () => {
    await bench.add('mail', { queue: 'high' })
    await bench.store.limit({ queue: 'high' }, { maxRunning: 0, rate: null })
    for (const command of ['queues', 'top'])
      expect(await bench.text(command)).toMatch(/high .* limited to 0$/m)
    expect((await bench.diagnose())('paused')).toMatchObject({
      status: 'warn',
      found: 'high (limited to 0, 1 waiting)',
      advice: expect.stringContaining('queues limit <queue> --off'),
    })
  })

  test("pausing Oncue's own queue warns that no alerts are sent, and doctor reports it too", async () => {
    expect(await bench.text('queues', 'pause', 'oncue')).toContain('no alerts are sent while it is paused')
    expect(await bench.text('queues', 'pause', 'high')).not.toContain('alert')
    const { found } = (await bench.diagnose())('paused')
    expect(found).toMatch(/high \(by \S+, 0 waiting\)/)
    expect(found).toMatch(/oncue \(by \S+, 0 waiting; no alerts are sent while it is paused\)/)
    await bench.store.resume('oncue')
    await bench.store.limit({ queue: 'oncue' }, { maxRunning: 0 })
    expect((await bench.diagnose())('paused').found).toContain(
      'oncue (limited to 0, 0 waiting; no alerts are sent while it is limited to 0)',
    )
  })
})
