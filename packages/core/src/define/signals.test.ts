import { describe, expect, it } from 'vitest'
import { LIMITS } from '../job/limits.ts'
import { asSignal, Cancel, PermanentError, Snooze, signalOf } from './signals.ts'

describe('signalOf', () => {
  it.each([
    [new PermanentError('no such user'), { kind: 'permanent' }],
    [new Snooze(1_500.7), { kind: 'snooze', delayMs: 1_500 }],
    [new Cancel('user left'), { kind: 'cancel', reason: 'user left' }],
    [new Cancel(), { kind: 'cancel', reason: undefined }],
  ])('reads %s', (signal, expected) => {
    expect(signalOf(signal)).toEqual(expected)
    expect(signal).toBeInstanceOf(Error)
  })

  it('reads the signal of another copy of this package', () => {
    const foreign = { [Symbol.for('oncue.signal')]: { kind: 'permanent' } }
    expect(signalOf(foreign)).toEqual({ kind: 'permanent' })
  })

  it('reads the signal of an error that came from another process', () => {
    const revived = asSignal(new Error('snoozed'), { kind: 'snooze', delayMs: 5 })
    expect(signalOf(revived)).toEqual({ kind: 'snooze', delayMs: 5 })
  })

  it.each([new Error('PermanentError'), 'cancel', null, undefined])('finds none in %s', (error) => {
    expect(signalOf(error)).toBeUndefined()
  })
})

it('PermanentError keeps its cause', () => {
  const cause = new Error('410 Gone')
  expect(new PermanentError('gone', { cause }).cause).toBe(cause)
})

it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, LIMITS.retryDelayMs + 1])('Snooze refuses %s', (ms) => {
  expect(() => new Snooze(ms)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
})
