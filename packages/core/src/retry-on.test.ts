import { expect, it } from 'vitest'
import { isRetriedKind } from './retry-on.ts'

class NetworkError extends Error {}
class SlowNetworkError extends NetworkError {}

it('retries everything without a list', () => {
  expect(isRetriedKind('thrown text', [])).toBe(true)
})

it('retries instances of the classes and of their subclasses', () => {
  expect(isRetriedKind(new NetworkError(), [TypeError, NetworkError])).toBe(true)
  expect(isRetriedKind(new SlowNetworkError(), [NetworkError])).toBe(true)
  expect(isRetriedKind(new Error('other'), [NetworkError])).toBe(false)
  expect(isRetriedKind('thrown text', [NetworkError])).toBe(false)
})

it('retries by name what crossed a process', () => {
  expect(isRetriedKind(Object.assign(new Error(), { name: 'NetworkError' }), [NetworkError])).toBe(true)
})
