import { OncueError } from '@oncue/core'
import { describe, expect, it } from 'vitest'
import { fromWire, toOncueError } from './errors.ts'

describe('an error that the API wrote', () => {
  it('is decoded with all its fields', () => {
    const wire = {
      code: 'RATE_LIMITED',
      message: 'too many',
      hint: 'wait',
      details: { retryAfterSeconds: 3 },
    }
    const error = fromWire(wire)
    expect(error).toBeInstanceOf(OncueError)
    expect(error).toMatchObject({ ...wire, retryable: true })
  })

  it('keeps a code that this client does not know', () => {
    const error = fromWire({ code: 'OF_TOMORROW', message: 'no', hint: 'upgrade' })
    expect(error).toMatchObject({ code: 'INTERNAL', message: 'OF_TOMORROW: no', hint: 'upgrade' })
  })

  it.each([[undefined], [null], ['text'], [{}], [{ code: 1, message: 'no' }], [{ code: 'INTERNAL' }]])(
    'is not %j',
    (value) => {
      expect(fromWire(value)).toBeUndefined()
    },
  )
})

describe('a network error', () => {
  it('has the message of the innermost cause', () => {
    const refused = new Error('connect ECONNREFUSED 127.0.0.1:4400')
    const error = toOncueError(new TypeError('fetch failed', { cause: refused }), 'http://x')
    expect(error).toMatchObject({
      code: 'NETWORK_ERROR',
      message: 'http://x is unreachable: connect ECONNREFUSED 127.0.0.1:4400',
    })
  })

  it.each([[undefined], [{}], ['text']])('has a code whatever was thrown: %j', (thrown) => {
    expect(toOncueError(thrown, 'http://x').message).toBe('http://x is unreachable: no reason given')
  })
})
