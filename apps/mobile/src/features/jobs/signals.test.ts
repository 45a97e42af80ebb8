import { expect, it } from 'vitest'
import { signalsOf } from './signals.ts'

it.each([
  [undefined, null],
  [{ policy: null }, {}],
  [{ policy: { queue: 'mail' } }, {}],
  [{ policy: { signals: { bank: { type: 'object' } } } }, { bank: { type: 'object' } }],
])('the signals of %j are %j', (topic, signals) => {
  expect(signalsOf(topic)).toEqual(signals)
})
