import { describe, expect, it } from 'vitest'
import { isOncueError } from '../errors.ts'
import { completeSearch, parseSearch, type SearchContext } from './search-query.ts'

const NOW = new Date('2026-11-16T03:12:00.000Z')
const DAY_AGO = new Date('2026-11-15T03:12:00.000Z')
const ID = '019a8b2c-7d10-7000-8000-0000000000af'
const CONTEXT: SearchContext = {
  now: NOW,
  maySearchPayloads: true,
  topics: ['mail_digest', 'shop:order', 'video'],
  queues: ['mail', 'media'],
}
const readingsOf = (text: string, context: Partial<SearchContext> = {}) =>
  parseSearch(text, { ...CONTEXT, ...context })
const wordsOf = (text: string, context?: Partial<SearchContext>) =>
  readingsOf(text, context).map(({ words }) => words)

const inPayload = (text: string) => `payload contains “${text}” (last 24 hours)`
const inError = (text: string) => `error contains “${text}”`

describe('the readings of a line of text, the likeliest first', () => {
  it.each<[text: string, readings: string[]]>([
    ['', []],
    ['   ', []],
    // Ids.
    [ID, [`id is ${ID}`]],
    [ID.toUpperCase(), [`id is ${ID}`]],
    ['1a2b3c4d', ['id ends with 1a2b3c4d', inPayload('1a2b3c4d'), inError('1a2b3c4d')]],
    [
      '019a8b2c',
      ['id begins with 019a8b2c', 'id ends with 019a8b2c', inPayload('019a8b2c'), inError('019a8b2c')],
    ],
    [
      '8000-0000000000af',
      ['id ends with 8000-0000000000af', inPayload('8000-0000000000af'), inError('8000-0000000000af')],
    ],
    ['id:00af', ['id ends with 00af']],
    ['id:019A8B2C', ['id begins with 019a8b2c', 'id ends with 019a8b2c']],
    // Numbers.
    ['12345678', ['id ends with 12345678', inPayload('12345678'), inError('12345678')]],
    ['4711', [inPayload('4711'), inError('4711'), 'id ends with 4711']],
    ['471', [inPayload('471'), inError('471')]],
    // Words.
    ['cafe', [inPayload('cafe'), inError('cafe'), 'id ends with cafe']],
    ['u_1', [inPayload('u_1'), inError('u_1'), 'topic u_1']],
    ['connection refused', [inPayload('connection refused'), inError('connection refused')]],
    ['"12345678"', [inPayload('12345678'), inError('12345678')]],
    ['"say \\"now\\""', [inPayload('say "now"'), inError('say "now"')]],
    ['"n":4711', [inPayload('"n":4711'), inError('"n":4711')]],
    ['https://a.example/b', [inPayload('https://a.example/b'), inError('https://a.example/b')]],
    ['GatewayTimeoutError', [inError('GatewayTimeoutError'), inPayload('GatewayTimeoutError')]],
    // Names.
    ['video', ['topic video', inPayload('video'), inError('video')]],
    ['mail', ['queue mail', inPayload('mail'), inError('mail'), 'topic mail_digest']],
    // No worker has announced it: its jobs wait for one.
    ['nightly_report', [inPayload('nightly_report'), inError('nightly_report'), 'topic nightly_report']],
    ['shop:order', ['topic shop:order', inPayload('shop:order'), inError('shop:order')]],
    // Qualifiers.
    ['topic:shop:order', ['topic shop:order']],
    ['queue:mail status:failed', ['queue mail, status failed']],
    ['STATUS:Waiting', ['status waiting']],
    ['status:retrying', ['status retrying']],
    ['error:timeout', [inError('timeout')]],
    ['error:"no answer"', [inError('no answer')]],
    ['payload:"order 42"', [inPayload('order 42')]],
    [
      'payload:x before:2026-11-01',
      ['payload contains “x”, created before 2026-11-01 (the 24 hours before)'],
    ],
    ['payload:x after:7d', ['payload contains “x”, created after 7d']],
    ['meta.tenant:acme', ['meta.tenant is acme']],
    ['meta.user:42', ['meta.user is 42', 'meta.user is 42 (as text)']],
    ['meta.user:"42"', ['meta.user is 42']],
    [
      'queue:mail 1a2b3c4d',
      [
        'id ends with 1a2b3c4d, queue mail',
        'payload contains “1a2b3c4d”, queue mail (last 24 hours)',
        'error contains “1a2b3c4d”, queue mail',
      ],
    ],
  ])('%j', (text, readings) => {
    expect(wordsOf(text)).toEqual(readings)
  })

  it.each([
    ['id:1a2b3c4d', [{ idSuffix: '1a2b3c4d' }]],
    ['id:019a8b2c', [{ idPrefix: '019a8b2c' }, { idSuffix: '019a8b2c' }]],
    ['payload:x', [{ payloadText: 'x', createdFrom: DAY_AGO }]],
    ['payload:x after:2h', [{ payloadText: 'x', createdFrom: new Date('2026-11-16T01:12:00.000Z') }]],
    ['after:2026-11-01T10:00Z', [{ createdFrom: new Date('2026-11-01T10:00:00.000Z') }]],
    ['before:2026-11-01', [{ createdTo: new Date(2026, 10, 1) }]],
    ['after:yesterday', [{ createdFrom: new Date(NOW.getFullYear(), NOW.getMonth(), NOW.getDate() - 1) }]],
    [
      'meta.user:42 meta.vip:true',
      [{ meta: { user: 42, vip: true } }, { meta: { user: '42', vip: 'true' } }],
    ],
    ['meta.a.b:x status:running', [{ status: 'processing', meta: { 'a.b': 'x' } }]],
    ['error:no queue:mail', [{ errorText: 'no', queue: 'mail' }]],
  ])('%j becomes these filters', (text, filters) => {
    expect(readingsOf(text).map(({ filter }) => filter)).toEqual(filters)
  })

  it('exclude payloads for callers who may not search them', () => {
    expect(wordsOf('12345678', { maySearchPayloads: false })).toEqual([
      'id ends with 12345678',
      inError('12345678'),
    ])
  })

  it('include a word as a name where no names are known', () => {
    const unknown = { topics: undefined, queues: undefined }
    expect(wordsOf('mail', unknown)).toEqual(['topic mail', 'queue mail', inPayload('mail'), inError('mail')])
    expect(wordsOf('no answer', unknown)).toEqual([inPayload('no answer'), inError('no answer')])
  })

  it('lose no condition to a key of objects', () => {
    const [reading] = readingsOf('topic:mail meta.__proto__:x')
    expect(JSON.stringify(reading?.filter)).toBe('{"topic":"mail","meta":{"__proto__":"x"}}')
  })

  it('are at most six', () => {
    const topics = Array.from({ length: 50 }, (_, n) => `cafe_${n}`)
    expect(wordsOf('cafe', { topics, queues: topics })).toHaveLength(6)
  })
})

describe('what cannot be understood is refused with a hint', () => {
  it.each([
    [
      'colour:red',
      'There is no qualifier colour:',
      'Use topic: queue: error: meta.key: status: after: before: id: payload:, or search for the text in quotes: "colour:red".',
    ],
    ['status:done', 'status: “done” is not a status', 'Use one of blocked, pending,'],
    ['status:constructor', 'status: “constructor” is not a status', 'Use one of blocked, pending,'],
    ['after:soon', 'after: “soon” is not a time', 'Use how long ago (30m, 2h, 7d)'],
    ['after:2026-02-31', 'after: “2026-02-31” is not a time', 'a day (2026-01-31)'],
    ['after:5', 'after: “5” is not a time', 'Use how long ago'],
    ['before:2026-13-01T10:00', 'before: “2026-13-01T10:00” is not a time', 'Use how long ago'],
    ['after:1h before:2h', 'after: is not before before:', 'Swap them'],
    ['topic: mail', 'topic: has no value', 'Write it without a space: topic:mail_digest.'],
    ['queue:a queue:b', 'queue: is given twice', 'Remove one of them.'],
    ['id:xyz', 'id: “xyz” is neither the beginning nor the end of an id', 'such as id:1a2b3c4d'],
    ['topic:mail ""', 'Nothing can be searched for “topic:mail ""”', 'Search by id'],
    ['payload:order 42', 'payload:order cannot be combined with other words', 'payload:"order 42"'],
  ])('%j', (text, message, hint) => {
    try {
      readingsOf(text)
      expect.unreachable()
    } catch (error) {
      if (!isOncueError(error)) throw error
      expect(error).toMatchObject({ code: 'INVALID_INPUT', message, hint: expect.stringContaining(hint) })
    }
  })

  it('payload: from callers who may not search payloads', () => {
    expect(() => readingsOf('payload:x', { maySearchPayloads: false })).toThrow(
      'only admins can search payloads',
    )
  })
})

describe('the text being typed can be completed', () => {
  it.each([
    ['to', ['topic:']],
    ['status:failed me', ['status:failed meta.']],
    ['topic:ma', ['topic:mail_digest ']],
    ['queue:m', ['queue:mail ', 'queue:media ']],
    [
      'status:c',
      [
        'status:blocked ',
        'status:processing ',
        'status:completed ',
        'status:cancelled ',
        'status:scheduled ',
      ],
    ],
    [
      'queue:mail ',
      ['topic:', 'queue:', 'error:', 'meta.', 'status:', 'after:', 'before:', 'id:', 'payload:'].map(
        (name) => `queue:mail ${name}`,
      ),
    ],
    ['u_1', []],
    ['queue:mail', []],
  ])('%j', (text, lines) => {
    expect(completeSearch(text, CONTEXT)).toEqual(lines)
  })
})
