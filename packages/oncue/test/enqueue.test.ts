import { showDatabase } from '@oncue/db'
import { expect, test } from 'vitest'
import { describeBoth, run } from './harness.ts'

describeBoth('enqueue', (bench) => {
  test('enqueue adds a job with all its options, and prints its id', async () => {
    const flags = [
      '--queue',
      'high',
      '--priority',
      '5',
      '--delay',
      '1h',
      '--max-retries',
      '7',
      '--timeout',
      '2m',
    ]
    const keys = ['--unique', 'only-one', '--meta', 'agent_id=7', '--meta', 'kind=daily']
    const { id } = await bench.json(['enqueue', 'mail', '{"user":7}', ...flags, ...keys])
    expect(await bench.store.get(id)).toMatchObject({
      topic: 'mail',
      payload: { user: 7 },
      queue: 'high',
      priority: 5,
      maxRetries: 7,
      timeoutMs: 120_000,
      uniqueKey: 'only-one',
      meta: { agent_id: 7, kind: 'daily' },
    })
    expect(await bench.json(['enqueue', 'mail', '{}', '--unique', 'only-one'])).toEqual({ id })
  })

  test('enqueue applies what a worker announced for the topic, otherwise the environment', async () => {
    const policy = { queue: 'high', priority: 3, maxRetries: 9, timeoutMs: 5_000 }
    await bench.store.announce([{ topic: 'mail', input: {}, output: {}, policy }])
    const env = { DATABASE_URL: bench.url, ONCUE_RETRY_MAX: '1' }
    const known = await run(['enqueue', 'mail'], { env })
    expect(await bench.store.get(known.stdout.trim())).toMatchObject(policy)
    expect(known.stderr).toBe(`database: ${showDatabase(bench.url)}\n`)
    const unknown = await run(['enqueue', 'other'], { env })
    expect(await bench.store.get(unknown.stdout.trim())).toMatchObject({ queue: 'default', maxRetries: 1 })
    expect(unknown.stderr).toBe(
      `database: ${showDatabase(bench.url)}\nnote: no worker has announced the topic other yet\n`,
    )
  })

  test('enqueue refuses a payload that does not fit what a worker announced, and says in which line', async () => {
    const input = { type: 'object', properties: { user: { type: 'number' } }, required: ['user'] }
    await bench.store.announce([{ topic: 'digest', input, output: {}, policy: {} }])
    const env = { DATABASE_URL: bench.url }
    const one = await run(['enqueue', 'digest', '{"user":"7"}'], { env })
    expect([one.code, one.stdout]).toEqual([2, ''])
    expect(one.stderr).toContain('error INVALID_PAYLOAD: payload.user: must be number (schema of digest)')
    const many = await run(['enqueue', 'digest', '--lines'], { env, input: '{"user":1}\n{"user":2}\n{}' })
    expect([many.code, many.stdout]).toEqual([2, ''])
    expect(many.stderr).toContain('error INVALID_PAYLOAD: line 3: payload.user')
    expect((await bench.store.stats({ topic: 'digest' })).pending).toBe(0)
  })

  test('enqueue reads standard input: one payload, or one on every line', async () => {
    const env = { DATABASE_URL: bench.url }
    const one = await run(['enqueue', 'mail', '-'], { env, input: '{"from":"a pipe"}' })
    expect(await bench.store.get(one.stdout.trim())).toMatchObject({ payload: { from: 'a pipe' } })
    const many = await run(['enqueue', 'row', '--lines', '--json'], {
      env,
      input: '{"n":1}\n\n{"n":2}\n{"n":3}',
    })
    const { ids } = JSON.parse(many.stdout)
    expect(ids).toHaveLength(3)
    expect(await bench.store.get(ids[2])).toMatchObject({ payload: { n: 3 } })
  })
})
