import { describe, expect, it } from 'vitest'
import { OncueError } from '../errors.ts'
import { describeError, jobErrorSchema } from './failure.ts'
import { LIMITS } from './limits.ts'
import { utf8Length } from './text.ts'

class PaymentError extends Error {}

describe('describeError', () => {
  it('returns class, message, code and stack', () => {
    const described = describeError(Object.assign(new TypeError('no'), { code: 'ERR_NO' }), 'mail')
    expect(described).toMatchObject({ class: 'TypeError', message: 'no', code: 'ERR_NO' })
    expect(described.stack).toMatch(/^TypeError: no\n\s+at /)
    expect(described.fingerprint).toMatch(/^[0-9a-f]{16}$/)
    expect(described).not.toHaveProperty('causes')
    expect(jobErrorSchema.parse(described)).toEqual(described)
  })

  it('finds the class of an error that did not set its name', () => {
    expect(describeError(new PaymentError('declined'), 'mail').class).toBe('PaymentError')
    expect(describeError(Object.assign(new Error('x'), { name: 'Custom' }), 'mail').class).toBe('Custom')
    expect(describeError(new OncueError('JOB_TIMEOUT', 'late'), 'mail')).toMatchObject({
      class: 'OncueError',
      code: 'JOB_TIMEOUT',
    })
  })

  it.each<[unknown, string, string]>([
    ['out of paper', 'string', 'out of paper'],
    [42, 'number', '42'],
    [undefined, 'undefined', 'undefined'],
    [null, 'object', 'null'],
    [Symbol('x'), 'symbol', 'Symbol(x)'],
    [{ status: 500 }, 'Object', '{"status":500}'],
    [{ message: 'a message', status: 500 }, 'Object', 'a message'],
    [Object.create(null), 'Error', '{}'],
  ])('describes a thrown %s', (thrown, className, message) => {
    const described = describeError(thrown, 'mail')
    expect(described).toMatchObject({ class: className, message })
    expect(described).not.toHaveProperty('stack')
  })

  it('survives values that throw when they are inspected', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(describeError(proxy, 'mail').message).toBe('a value that cannot be shown')
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    expect(describeError(cyclic, 'mail').class).toBe('Object')
  })

  it('replaces what a database could not store', () => {
    expect(describeError(new Error('a\0b\ud800'), 'mail').message).toBe('a\ufffdb\ufffd')
  })
})

describe('causes', () => {
  it('are kept from the outside in', () => {
    const error = new Error('outer', { cause: new TypeError('middle', { cause: 'inner' }) })
    expect(describeError(error, 'mail').causes).toMatchObject([
      { class: 'TypeError', message: 'middle' },
      { class: 'string', message: 'inner' },
    ])
  })

  it('of an AggregateError are its errors', () => {
    const error = new AggregateError([new Error('IPv6 refused'), new Error('IPv4 refused')])
    expect(describeError(error, 'mail').causes?.map(({ message }) => message)).toEqual([
      'IPv6 refused',
      'IPv4 refused',
    ])
  })

  it('are empty where they cannot be inspected', () => {
    const { proxy, revoke } = Proxy.revocable([], {})
    revoke()
    expect(describeError({ message: 'odd', errors: proxy }, 'mail')).not.toHaveProperty('causes')
  })

  it('end at a cycle and at five', () => {
    const first = new Error('first')
    first.cause = new Error('second', { cause: first })
    expect(describeError(first, 'mail').causes).toHaveLength(1)

    let deep = new Error('0')
    for (let i = 1; i <= 50; i++) deep = new Error(`${i}`, { cause: deep })
    expect(describeError(deep, 'mail').causes?.map(({ message }) => message)).toEqual([
      '49',
      '48',
      '47',
      '46',
      '45',
    ])
  })
})

describe('the limit', () => {
  const long = '任'.repeat(1_000_000)

  it('holds for message, stack and causes together', () => {
    const error = new Error(long, { cause: new Error(long, { cause: new Error(long) }) })
    const { message, stack, causes = [] } = describeError(error, 'mail')
    const texts = [message, stack, ...causes.flatMap((cause) => [cause.message, cause.stack])]
    const bytes = texts.reduce((sum, text) => sum + utf8Length(text ?? ''), 0)
    expect(bytes).toBeLessThanOrEqual(LIMITS.lastErrorBytes)
    expect(bytes).toBeGreaterThan(LIMITS.lastErrorBytes / 2)
  })

  it('leaves room for the frames below a long message, and does not change the fingerprint', () => {
    const at = '\n    at send (/app/src/mail.ts:3:9)'
    const [short, cut] = ['no', long].map((message) =>
      describeError(Object.assign(new Error(message), { stack: `Error: ${message}${at}` }), 'mail'),
    )
    expect(cut?.stack?.endsWith(at)).toBe(true)
    expect(cut?.fingerprint).toBe(short?.fingerprint)
  })
})
