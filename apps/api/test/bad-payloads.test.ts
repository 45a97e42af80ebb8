import superjson from 'superjson'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectRefused, type Row, TRICKS } from './bad-input-cases.ts'
import { DIALECTS } from './harness.ts'
import { type Answer, type Sending, World } from './test-server.ts'

describe.each(DIALECTS)('bad payloads and pages on %s', (dialect) => {
  let world: World
  beforeAll(async () => {
    world = await World.open(dialect)
  })
  afterAll(() => world.close())

  describe('payloads', () => {
    const ENQUEUES: [
      name: string,
      send: (payload: string, topic?: string, sending?: Sending) => Promise<Answer>,
    ][] = [
      [
        'jobs.enqueue',
        (payload, topic = 't', sending) =>
          world.callRaw(
            'jobs.enqueue',
            'mutation',
            `{"json":{"topic":"${topic}","payload":${payload}}}`,
            sending,
          ),
      ],
      [
        'jobs.enqueueMany',
        (payload, topic = 't', sending) =>
          world.callRaw(
            'jobs.enqueueMany',
            'mutation',
            `{"json":{"atomic":true,"jobs":[{"topic":"${topic}","payload":${payload}}]}}`,
            sending,
          ),
      ],
      [
        'schedules.save',
        (payload, topic = 't', sending) =>
          world.callRaw(
            'schedules.save',
            'mutation',
            `{"json":{"name":"s","cron":"0 9 * * *","topic":"${topic}","payload":${payload}}}`,
            sending,
          ),
      ],
      [
        'POST /api/jobs/enqueue',
        (payload, topic = 't', sending) =>
          world.send('POST', '/api/jobs/enqueue', {
            ...sending,
            body: `{"topic":"${topic}","payload":${payload}}`,
          }),
      ],
      [
        'POST /api/jobs/enqueue/batch',
        (payload, topic = 't', sending) =>
          world.send('POST', '/api/jobs/enqueue/batch', {
            ...sending,
            body: `{"atomic":true,"jobs":[{"topic":"${topic}","payload":${payload}}]}`,
          }),
      ],
      [
        'POST /api/commands/jobs',
        (payload, topic = 'a:t', sending) =>
          world.send('POST', '/api/commands/jobs', {
            ...sending,
            body: `{"app":"a","command":"${topic.replace(/^a:/, '')}","input":${payload}}`,
          }),
      ],
    ]

    test.each(ENQUEUES)('%s refuses payloads that cannot be stored', async (_, send) => {
      await expectRefused(world, [
        ['a megabyte and one', () => send(`"${'x'.repeat(1_048_575)}"`), ['PAYLOAD_TOO_LARGE']],
        ['10 000 deep', () => send('['.repeat(10_000) + ']'.repeat(10_000)), ['INVALID_PAYLOAD']],
        [
          '__proto__',
          () => send('{"a":[{"__proto__":{"admin":true}}]}'),
          ['INVALID_JSON', 'INVALID_PAYLOAD'],
        ],
        ['NUL', () => send('"a\\u0000b"'), ['INVALID_TEXT']],
        ['half a character', () => send('"\\ud800"'), ['INVALID_TEXT']],
        ['a number beyond 2^53', () => send('{"n":9007199254740993}'), ['UNSAFE_NUMBER']],
        ['a number beyond all', () => send('1e999'), ['INVALID_PAYLOAD']],
        ['a topic of others', () => send('1', undefined, { as: 'narrow' }), ['TOPIC_NOT_ALLOWED']],
      ])
    })

    test.each(ENQUEUES.filter(([name]) => name !== 'POST /api/commands/jobs'))(
      '%s refuses what does not fit its topic',
      async (_, send) => {
        await expectRefused(world, [
          ['a missing field', () => send('{}', 'mail'), ['INVALID_PAYLOAD']],
          ['another type', () => send('5', 'mail'), ['INVALID_PAYLOAD']],
        ])
      },
    )

    test('texts that look like tricks are data where any text may stand', async () => {
      const tricks = TRICKS.filter((trick) => !/[\0\ud800]/.test(trick))
      for (const [index, trick] of tricks.entries()) {
        const key = `${index}${trick}`.slice(0, 255)
        const body = {
          topic: 't',
          payload: { [key]: trick },
          meta: { text: trick.slice(0, 1_000) },
          unique: { key },
        }
        const { body: made } = await world.send('POST', '/api/jobs/enqueue', { body })
        const { id } = made as { id: string }
        expect((await world.send('GET', `/api/jobs/${id}`)).body).toMatchObject({
          payload: { [key]: trick },
          unique_key: key,
        })
      }
    })

    test('names of built-in object properties are ordinary names', async () => {
      for (const topic of ['constructor', '__proto__', 'toString']) {
        const payload = { constructor: 'a', prototype: ['b'], toString: 1, 'a.b\\c': { constructor: null } }
        const { body } = await world.send('POST', '/api/jobs/enqueue', {
          body: { topic, queue: topic, payload },
        })
        const { id, created } = body as { id: string; created: string }
        const { text } = await world.call('jobs.get', { id })
        const job = superjson.deserialize(JSON.parse(text).result.data)
        expect(job).toMatchObject({ topic, queue: topic, payload, created: new Date(created) })
        expect((await world.call('queues.list', undefined)).text).toContain(`"queue":"${topic}"`)
        expect((await world.call('jobs.list', { topic, queue: topic })).text).toContain(id)
      }
    })
  })

  describe('pages', () => {
    const LISTS = ['jobs.list', 'audit.list']

    test.each(LISTS)('%s refuses the cursor of another filter, and an invalid one', async (name) => {
      for (let n = 0; n < 3; n++) await world.call('jobs.enqueue', { topic: 'paged' })
      const first = await world.call(name, { limit: 1 })
      const { nextCursor } = (first.body as { result: { data: { json: { nextCursor: string } } } }).result
        .data.json
      const other = name === 'jobs.list' ? { topic: 'mail' } : { action: 'jobs.cancel' }
      await expectRefused(world, [
        [
          'of another filter',
          () => world.call(name, { ...other, limit: 1, cursor: nextCursor }),
          ['INVALID_CURSOR'],
        ],
        [
          'half of it',
          () => world.call(name, { limit: 1, cursor: nextCursor.slice(0, 9) }),
          ['INVALID_CURSOR'],
        ],
        ...TRICKS.map(
          (cursor): Row => [
            'a trick',
            () => world.call(name, { cursor }),
            ['INVALID_CURSOR', 'INVALID_INPUT'],
          ],
        ),
      ])
    })

    test('an offset past the end is an empty page', async () => {
      const { status, body } = await world.call('jobs.list', { offset: Number.MAX_SAFE_INTEGER })
      expect([status, body]).toMatchObject([200, { result: { data: { json: { items: [] } } } }])
    })
  })
})
