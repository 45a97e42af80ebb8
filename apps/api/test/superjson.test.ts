import type { FastifyInstance } from 'fastify'
import superjson from 'superjson'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createServer } from '../src/http/server.ts'
import { transformer } from '../src/http/transformer.ts'
import { OPEN, PROCEDURES, World } from './test-server.ts'

/** Values marked as each of superjson's types that are refused for every caller. */
const STRANGE: Readonly<Record<string, { json: unknown; meta: object }>> = {
  'typed array of a length': { json: 100_000_000, meta: { values: [['typed-array', 'Uint8Array']] } },
  'typed array': { json: [1, 2], meta: { values: [['typed-array', 'Float64Array']] } },
  set: { json: [1], meta: { values: ['set'] } },
  'set whose members are equal': {
    json: Array.from({ length: 100 }, (_, n) => [n]),
    meta: {
      values: ['set'],
      referentialEqualities: [Object.fromEntries(Array.from({ length: 100 }, (_, n) => [n, ['0']]))],
    },
  },
  map: { json: [['a', 1]], meta: { values: ['map'] } },
  'map of dates': { json: [['a', '2026-01-08']], meta: { values: ['map', { '0.1': ['Date'] }] } },
  bigint: { json: '9'.repeat(1_000), meta: { values: ['bigint'] } },
  regexp: { json: '/(a+)+$/', meta: { values: ['regexp'] } },
  error: { json: { name: 'Error', message: 'x' }, meta: { values: ['Error'] } },
  url: { json: 'https://oncue.example', meta: { values: ['URL'] } },
  number: { json: 'NaN', meta: { values: ['number'] } },
  symbol: { json: 'x', meta: { values: [['symbol', 'x']] } },
  class: { json: { a: 1 }, meta: { values: [['class', 'Object']] } },
  custom: { json: 'x', meta: { values: [['custom', 'x']] } },
  'one of these within': {
    json: { a: { b: 9 } },
    meta: { values: { 'a.b': [['typed-array', 'Int8Array']] } },
  },
  'equal objects': { json: { a: {}, b: {} }, meta: { referentialEqualities: { a: ['b'] } } },
  'a type of the language': { json: 'x', meta: { values: ['constructor'] } },
  'no type': { json: 'x', meta: { values: [] } },
  'a path to a prototype': { json: {}, meta: { values: { '__proto__.a': ['undefined'] } } },
  'the length of a list': { json: [1], meta: { values: { length: ['undefined'] } } },
}

/** A refused request takes about ten turns of the event loop. */
const MAX_TURNS = 100

/** Counts turns of the event loop. A blocked loop does not turn, so tests also check that superjson builds nothing. */
async function turnsOf<Value>(work: () => PromiseLike<Value>): Promise<{ value: Value; turns: number }> {
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  try {
    const value = await work()
    return { value, turns }
  } finally {
    clearImmediate(next)
  }
}

describe('input as superjson writes it', () => {
  let world: World
  let app: FastifyInstance
  const deserialize = vi.spyOn(superjson, 'deserialize')
  beforeAll(async () => {
    world = await World.open('sqlite')
    const limits = { perToken: 1e9, perAddress: 1e9 }
    app = await createServer(world.services, { appDir: '', corsOrigins: [], trustProxy: false, limits })
    await app.ready()
  })
  afterAll(async () => {
    deserialize.mockRestore()
    await app.close()
    await world.close()
  })

  /** Without a network, so that only the server's turns are counted. */
  const inject = (path: string, isChange: boolean, text: string) =>
    turnsOf(() =>
      isChange
        ? app.inject({
            method: 'POST',
            url: path,
            payload: text,
            headers: { 'content-type': 'application/json' },
          })
        : app.inject({
            method: 'GET',
            url: `${path}${path.includes('?') ? '&' : '?'}input=${encodeURIComponent(text)}`,
          }),
    )

  describe.each(PROCEDURES)('$name', ({ name, type }) => {
    const isOpen = OPEN.includes(name)
    const isChange = type === 'mutation'

    test.each(Object.keys(STRANGE))('without a token, %s', async (strange) => {
      const text = JSON.stringify(STRANGE[strange])
      deserialize.mockClear()
      for (const sent of [text, text.slice(0, -1)]) {
        const { value: answer, turns } = await inject(`/trpc/${name}`, isChange, sent)
        expect(turns).toBeLessThan(MAX_TURNS)
        // A stream is refused after its response has begun.
        if (type !== 'subscription') expect(answer.statusCode, answer.body).toBe(isOpen ? 400 : 401)
        else expect(answer.body).toContain('UNAUTHORIZED')
        if (isOpen && sent === text) expect(answer.body).toContain('"message":"input.meta ')
      }
      expect(deserialize).not.toHaveBeenCalled()
    })

    test('without a token, in a batch', async () => {
      if (type === 'subscription') return
      deserialize.mockClear()
      for (const strange of Object.values(STRANGE)) {
        const text = JSON.stringify({ 0: strange, 1: strange })
        const { value: answer, turns } = await inject(`/trpc/${name},${name}?batch=1`, isChange, text)
        expect(turns).toBeLessThan(MAX_TURNS)
        expect(answer.statusCode, answer.body).toBe(isOpen ? 400 : 401)
        expect(answer.json()).toHaveLength(2)
      }
      expect(deserialize).not.toHaveBeenCalled()
    })

    test('of an admin', async () => {
      for (const strange of Object.values(STRANGE)) {
        const text = JSON.stringify(strange)
        const answer = await world.callRaw(name, type, text)
        expect(answer.error, answer.text).toMatchObject({ code: 'INVALID_INPUT' })
        expect(answer.error?.message).toMatch(/^input\.meta /)
      }
      expect(world.faults).toEqual([])
    })
  })

  test('a call in a batch without access is refused, and the other is made', async () => {
    const code = await world.pairingCode()
    const { value: answer } = await inject(
      '/trpc/pairings.exchange,tokens.create?batch=1',
      true,
      JSON.stringify({ 0: { json: { code, name: 'phone' } }, 1: { json: { name: 'x', role: 'admin' } } }),
    )
    expect(answer.statusCode).toBe(207)
    expect(answer.json()).toMatchObject([
      { result: { data: { json: { device: { name: 'phone' } } } } },
      { error: { json: { data: { oncue: { code: 'UNAUTHORIZED' } } } } },
    ])
  })
})

const day = new Date('2026-01-08T12:00:00.000Z')

test.each<[string, unknown]>([
  ['a date', day],
  ['undefined', undefined],
  ['plain JSON', { a: [1, null, 'x'], b: false }],
  [
    'dates and undefined in objects and lists',
    { items: [{ at: day, n: undefined }, undefined, { at: new Date(day) }] },
  ],
  ['names with dots and backslashes', { 'a.b': { 'c\\': day, 'd\\.e': [undefined] } }],
])('output of superjson is read: %s', (_, value) => {
  expect(transformer.input.deserialize(JSON.parse(superjson.stringify(value)))).toStrictEqual(value)
})

test('more marks than the largest batch has are refused before any is applied', () => {
  const marks = (count: number) => ({
    json: Array.from({ length: count }, () => null),
    meta: { values: Object.fromEntries(Array.from({ length: count }, (_, n) => [n, ['undefined']])) },
  })
  expect(transformer.input.deserialize(marks(20_000))).toHaveLength(20_000)
  expect(() => transformer.input.deserialize(marks(20_001))).toThrow('input.meta marks 20001 values')
})
