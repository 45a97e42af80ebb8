import { expect, test } from 'vitest'
import { call, describeBoth } from './harness.ts'

describeBoth('schedules', (bench) => {
  test('removing one that is declared in code warns that a worker will bring it back', async () => {
    const schedule = {
      name: 'tick',
      cron: '* * * * *',
      timezone: 'UTC',
      topic: 'tick',
      payload: null,
      options: {},
    }
    await bench.store.schedules.save({ ...schedule, missed: 'one', source: 'code', service: 'billing' })
    const { code, stdout, stderr } = await call('schedules', 'remove', 'tick', '--url', bench.url)
    expect([code, stdout]).toEqual([0, 'tick is removed\n'])
    expect(stderr).toContain('the next worker that declares it brings it back')
  })

  test('schedules are added, changed, listed, run, paused, resumed and removed', async () => {
    const adding = ['schedules', 'add', 'digest', '0 9 * * *', 'mail', '{"all":true}']
    await bench.json([...adding, '--tz', 'Asia/Shanghai', '--queue', 'high'])
    await bench.json([...adding, '--timezone', 'Europe/Berlin', '--queue', 'high', '--missed', 'one'])
    expect(await bench.json(['schedules'])).toMatchObject([
      {
        name: 'digest',
        cron: '0 9 * * *',
        timezone: 'Europe/Berlin',
        payload: { all: true },
        options: { queue: 'high' },
        missed: 'one',
        source: 'database',
        paused: null,
      },
    ])
    const changed = await bench.text(...adding, '--queue', 'high')
    expect(changed).toMatch(/^digest is saved; the next run is at .*Z\n$/)
    const { id } = await bench.json(['schedules', 'run', 'digest'])
    expect(await bench.store.get(id)).toMatchObject({ topic: 'mail', queue: 'high', payload: { all: true } })
    await bench.json(['schedules', 'pause', 'digest'])
    expect(await bench.json(['schedules', 'list'])).toMatchObject([
      { nextAt: null, paused: { by: expect.any(String) } },
    ])
    await bench.json(['schedules', 'resume', 'digest'])
    await bench.json(['schedules', 'remove', 'digest'])
    expect(await bench.json(['schedules'])).toEqual([])
    expect(await bench.json(['schedules', 'run', 'digest'], 1)).toMatchObject({
      error: { code: 'SCHEDULE_NOT_FOUND' },
    })
    expect(await bench.json(['schedules', 'add', 'x', 'never', 'mail'], 2)).toMatchObject({
      error: { code: 'INVALID_CRON' },
    })
  })

  test('one that is declared in code is changed only with --take-over, and the hint says so', async () => {
    const schedule = { cron: '@daily', timezone: 'UTC', payload: {}, options: {}, missed: 'skip' } as const
    await bench.store.schedules.save({ ...schedule, name: 'digest', topic: 'mail', source: 'code' })
    const add = ['schedules', 'add', 'digest', '@hourly', 'mail']
    const { error } = await bench.json(add, 1)
    expect(error).toMatchObject({ code: 'SCHEDULE_IN_CODE', hint: /or add --take-over\.$/ })
    expect(await bench.json([...add, '--take-over'])).toMatchObject({ cron: '@hourly', source: 'database' })
  })

  test('a payload that does not fit the schema of its topic is refused, and nothing is saved', async () => {
    const input = { type: 'object', properties: { user: { type: 'number' } }, required: ['user'] }
    await bench.store.announce([{ topic: 'mail', input, output: {}, policy: {} }])
    const add = ['schedules', 'add', 'digest', '@daily', 'mail']
    expect(await bench.json([...add, '{"wrong":1}'], 2)).toMatchObject({
      error: { code: 'INVALID_PAYLOAD', message: 'payload.user: is missing (schema of mail)' },
    })
    expect(await bench.store.schedules.list()).toEqual([])
    expect(await bench.json([...add, '{"user":7}'])).toMatchObject({ payload: { user: 7 } })
  })

  test('a cron pattern is tried before it is saved', async () => {
    const { runs } = await bench.json(['schedules', 'preview', '0 9 * * *', '--tz', 'Asia/Shanghai'])
    expect(runs).toHaveLength(5)
    for (const run of runs) expect(run).toMatch(/T01:00:00.000Z$/)
    const shanghai = await bench.text(
      'schedules',
      'preview',
      '0 9 * * *',
      '--tz',
      'Asia/Shanghai',
      '--count',
      '1',
    )
    expect(shanghai).toMatch(/^\d{4}-\d\d-\d\d 09:00:00 Asia\/Shanghai = \S+ 01:00:00Z \(in .*\)\n$/)
    const text = await bench.text('schedules', 'preview', '@hourly', '--count', '2')
    expect(text.trimEnd().split('\n')).toEqual([
      ...[expect.stringMatching(/:00:00.* \(in /), expect.stringMatching(/:00:00.* \(in /)],
    ])
    expect(await bench.json(['schedules', 'preview', '0 25 * * *'], 2)).toMatchObject({
      error: { code: 'INVALID_CRON', message: expect.stringContaining('hour "25" must be 0-23') },
    })
    expect(await bench.store.schedules.list()).toEqual([])
  })

  test('schedules says whose code has one', async () => {
    const schedule = { cron: '@daily', timezone: 'UTC', payload: {}, options: {}, missed: 'skip' } as const
    await bench.store.schedules.save({
      ...schedule,
      name: 'a',
      topic: 'a',
      source: 'code',
      service: 'billing',
    })
    await bench.store.schedules.save({ ...schedule, name: 'b', topic: 'b', source: 'database' })
    const [, a, b] = (await bench.text('schedules')).split('\n')
    expect(a).toMatch(/ code \(billing\)$/)
    expect(b).toMatch(/ database$/)
  })
})
