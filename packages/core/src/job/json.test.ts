import { describe, expect, it } from 'vitest'
import { isOncueError } from '../errors.ts'
import { copyJson, encodeJson, type JsonKind } from './json.ts'
import { LIMITS } from './limits.ts'

function refusal(value: unknown, kind: JsonKind = 'payload', maxBytes?: number) {
  try {
    encodeJson(value, kind, maxBytes)
  } catch (error) {
    if (isOncueError(error)) return error
    throw error
  }
  throw new Error('was accepted')
}

function nest(depth: number): unknown {
  let value: unknown = 'core'
  for (let i = 0; i < depth; i++) value = { in: value }
  return value
}

describe('encodeJson gives what JSON.stringify gives', () => {
  class Point {
    x = 1
  }
  class Money {
    readonly #cents = 150
    toJSON() {
      return { cents: this.#cents }
    }
  }
  class Self extends Point {
    toJSON() {
      return this
    }
  }
  const shared = { a: 1 }

  it.each<[string, unknown]>([
    ['plain data', { a: [1, 'two', true, null, { b: -0.5 }] }],
    ['an empty text, array and object', ['', [], {}]],
    ['undefined properties, dropped', { a: undefined, b: 1 }],
    ['undefined elements, as null', [undefined, 1]],
    ['a Date', { at: new Date(0) }],
    ['an instance with fields', new Point()],
    ['an instance with toJSON', [new Money()]],
    ['an instance whose toJSON gives itself', new Self()],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 })],
    ['the same object twice', [shared, shared]],
    ['the largest safe integers', [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]],
    ['every script, and pairs of surrogates', { 'naïve 任务 🐘': '\u{1f9be}\n\t"\\' }],
    ['as many levels as are allowed', nest(LIMITS.jsonDepth)],
  ])('%s', (_, value) => {
    expect(encodeJson(value, 'payload')).toBe(JSON.stringify(value))
  })

  it('except that a missing value is null', () => {
    expect(encodeJson(undefined, 'payload')).toBe('null')
    expect(encodeJson({ toJSON: () => undefined }, 'payload')).toBe('null')
  })
})

describe('encodeJson refuses, and says where', () => {
  const cycle: Record<string, unknown> = { items: [{}] }
  ;(cycle.items as Record<string, unknown>[])[0] = { owner: cycle }
  const sparse: unknown[] = []
  sparse[3] = Number.NaN

  it.each<[string, unknown, string, string]>([
    ['a function', { items: [0, { run() {} }] }, 'INVALID_PAYLOAD', 'payload.items[1].run is a function'],
    ['a function as payload', () => 1, 'INVALID_PAYLOAD', 'payload is a function'],
    ['a symbol', { a: Symbol('x') }, 'INVALID_PAYLOAD', 'payload.a is a symbol'],
    [
      'a prototype',
      JSON.parse('{"a":{"__proto__":{}}}'),
      'INVALID_PAYLOAD',
      'payload.a has a property "__proto__"',
    ],
    [
      'NaN',
      { 'a b': sparse },
      'INVALID_PAYLOAD',
      'payload["a b"][3] is NaN, which JSON would turn into null',
    ],
    ['Infinity', [Number.NEGATIVE_INFINITY], 'INVALID_PAYLOAD', 'payload[0] is -Infinity'],
    ['an invalid Date', { at: new Date(Number.NaN) }, 'INVALID_PAYLOAD', 'payload.at is an invalid Date'],
    [
      'a Map',
      { a: new Map([[1, 2]]) },
      'INVALID_PAYLOAD',
      'payload.a is an instance of Map, which JSON would turn into {}',
    ],
    ['a promise', { user: Promise.resolve(1) }, 'INVALID_PAYLOAD', 'payload.user is an instance of Promise'],
    ['an Error', new Error('x'), 'INVALID_PAYLOAD', 'payload is an instance of Error'],
    ['a cycle', cycle, 'INVALID_PAYLOAD', 'payload.items[0].owner refers back to an object that contains it'],
    ['one level too many', nest(LIMITS.jsonDepth + 1), 'INVALID_PAYLOAD', 'nested more than 200 levels deep'],
    ['ten thousand levels', nest(10_000), 'INVALID_PAYLOAD', 'nested more than 200 levels deep'],
    ['a bigint', { id: 10n }, 'UNSAFE_NUMBER', 'payload.id is a bigint'],
    ['an integer beyond 2^53 - 1', { id: 2 ** 53 }, 'UNSAFE_NUMBER', 'payload.id is 9007199254740992'],
    ['a great negative one', [-1e300], 'UNSAFE_NUMBER', 'payload[0] is -1e+300'],
    ['a NUL', { name: 'a\0b' }, 'INVALID_TEXT', 'payload.name contains a NUL character at position 1'],
    [
      'a lone high surrogate',
      ['\ud83e!'],
      'INVALID_TEXT',
      'payload[0] contains a lone surrogate at position 0',
    ],
    [
      'a lone low surrogate',
      ['ab\udd9e'],
      'INVALID_TEXT',
      'payload[0] contains a lone surrogate at position 2',
    ],
    ['a NUL in a name', { a: { 'k\0': 1 } }, 'INVALID_TEXT', 'payload.a has a property "k\\u0000"'],
    ['what toJSON gives', { a: { toJSON: () => [1n] } }, 'UNSAFE_NUMBER', 'payload.a[0] is a bigint'],
  ])('%s', (_, value, code, message) => {
    const error = refusal(value)
    expect(error.code).toBe(code)
    expect(error.message).toContain(message)
  })

  it('with the code and path of the kind that was encoded', () => {
    expect(refusal(Number.NaN, 'result').code).toBe('INVALID_RESULT')
    expect(refusal({ a: Number.NaN }, 'meta').code).toBe('INVALID_INPUT')
    expect(refusal({ a: Number.NaN }, 'cursor').message).toMatch(/^cursor\.a is NaN/)
  })

  it('with a path of limited length', () => {
    expect(refusal(nest(10_000)).message.length).toBeLessThan(200)
  })
})

describe('encodeJson limits the bytes in UTF-8', () => {
  it('of a payload to 1 MB, exactly', () => {
    const room = LIMITS.payloadBytes - 2
    expect(encodeJson('x'.repeat(room), 'payload')).toHaveLength(LIMITS.payloadBytes)
    expect(refusal('x'.repeat(room + 1))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { bytes: LIMITS.payloadBytes + 1, maxBytes: LIMITS.payloadBytes },
    })
  })

  it('counting bytes and not characters', () => {
    expect(encodeJson('é', 'payload', 4)).toBe('"é"')
    expect(refusal('é', 'payload', 3)).toMatchObject({ details: { bytes: 4, maxBytes: 3 } })
  })

  it('of meta to less, with its own code', () => {
    expect(refusal({ note: 'x'.repeat(LIMITS.metaBytes) }, 'meta').code).toBe('META_TOO_LARGE')
  })

  it('without an endless walk through an object shared 2^60 times', () => {
    let value: unknown = {}
    for (let i = 0; i < 60; i++) value = { left: value, right: value }
    expect(refusal(value).code).toBe('PAYLOAD_TOO_LARGE')
    expect(refusal(new Array(2 ** 32 - 1)).code).toBe('PAYLOAD_TOO_LARGE')
  })
})

describe('copyJson', () => {
  it.each([
    ['nothing', undefined],
    ['texts', ['', 'a', '"\\\b\t\n\f\r\u0001\u001f\u007f', 'ä€😀', new String('boxed')]],
    ['numbers', [0, -0, 1.5, -1e-7, 2 ** 53 - 1, 1e300 / 1e290]],
    ['what JSON leaves out', { a: undefined, b: [undefined, null], c: {}, d: [], e: { f: undefined } }],
    ['holes', Object.assign(Array(3), { 1: 'b' })],
    [
      'dates and other toJSON',
      { at: new Date(0), id: { toJSON: (key: string) => `of ${key}` }, no: { toJSON() {} } },
    ],
    ['names', { 'ä"': 1, '': { '\n': true, 2: false, 1: null } }],
    ['no prototype', Object.assign(Object.create(null), { a: [[[{ b: 1 }]]] })],
  ])('equals the parsed text, and has its length: %s', (_, value) => {
    const text = JSON.stringify(value) ?? 'null'
    const copied = copyJson(value, 'payload')
    expect(copied).toEqual({ value: JSON.parse(text), bytes: new TextEncoder().encode(text).length })
    expect(JSON.stringify(copied.value)).toBe(text)
  })

  it('does not change with the original', () => {
    const payload = { list: [{ a: 1 }] }
    const { value } = copyJson(payload, 'payload')
    payload.list.pop()
    expect(value).toEqual({ list: [{ a: 1 }] })
  })

  it('refuses what encodeJson refuses', () => {
    expect(() => copyJson({ f() {} }, 'payload')).toThrow('payload.f is a function')
    expect(() => copyJson('x'.repeat(9), 'payload', 10)).toThrow('payload takes 11 bytes as JSON, at most 10')
  })
})
