import { describe, expect, it } from 'vitest'
import { LIMITS } from './limits.ts'
import {
  crashVerdict,
  decideRetry,
  isRetriedKind,
  retryDelayMs,
  retryOptionsSchema,
  toRetrySettings,
} from './retry.ts'

const MINUTE = 60_000
const SECOND = 1_000

describe('retryDelayMs', () => {
  const nths = [1, 2, 3, 4]

  it.each([undefined, null, { strategy: 'quadratic' } as const])('is retries² minutes for %j', (policy) => {
    expect(nths.map((nth) => retryDelayMs(policy, nth))).toEqual([1, 4, 9, 16].map((n) => n * MINUTE))
  })

  it('doubles for exponential', () => {
    expect(nths.map((nth) => retryDelayMs({ strategy: 'exponential' }, nth))).toEqual(
      [1, 2, 4, 8].map((n) => n * SECOND),
    )
    expect(retryDelayMs({ strategy: 'exponential', baseDelay: 250 }, 3)).toBe(1_000)
  })

  it('is between half and all of the exponential delay with jitter', () => {
    const policy = { strategy: 'exponential_jitter' } as const
    expect(retryDelayMs(policy, 3, () => 0)).toBe(2 * SECOND)
    expect(retryDelayMs(policy, 3, () => 0.5)).toBe(3 * SECOND)
    expect(retryDelayMs(policy, 3, () => 0.999_999)).toBeLessThan(4 * SECOND)
  })

  it('stays the same for fixed', () => {
    expect(nths.map((nth) => retryDelayMs({ strategy: 'fixed', baseDelay: 5_000 }, nth))).toEqual(
      nths.map(() => 5_000),
    )
  })

  it('stays within minDelay and maxDelay', () => {
    const policy = { strategy: 'exponential', minDelay: 3_000, maxDelay: 6_000 } as const
    expect(nths.map((nth) => retryDelayMs(policy, nth))).toEqual([3_000, 3_000, 4_000, 6_000])
  })

  it('is a whole number within the maximum, for any input', () => {
    const strategies = ['quadratic', 'exponential', 'exponential_jitter', 'fixed'] as const
    const counts = [Number.NaN, -1, 0, 0.5, 1, 60, 1_000, 1e9, Number.POSITIVE_INFINITY]
    for (const strategy of strategies) {
      for (const baseDelay of [0, 1, LIMITS.retryDelayMs]) {
        for (const retries of counts) {
          const delay = retryDelayMs({ strategy, baseDelay }, retries)
          expect(Number.isInteger(delay), `${strategy} ${baseDelay} ${retries}`).toBe(true)
          expect(delay).toBeGreaterThanOrEqual(0)
          expect(delay).toBeLessThanOrEqual(LIMITS.retryDelayMs)
        }
      }
    }
  })
})

describe('decideRetry', () => {
  it('allows max_retries retries: three mean at most four runs', () => {
    expect([0, 1, 2, 3, 4].map((retries) => decideRetry(retries, 3))).toEqual([
      'retry',
      'retry',
      'retry',
      'fail',
      'fail',
    ])
    expect(decideRetry(0, 0)).toBe('fail')
  })
})

describe('crashVerdict', () => {
  const again = (delayMs: number) => ({ action: 'retry', delayMs })
  const failed = { action: 'fail' }

  it.each([
    { maxRetries: 0, verdicts: [failed, failed] },
    { maxRetries: 1, verdicts: [again(0), failed] },
    { maxRetries: 2, verdicts: [again(0), failed] },
    { maxRetries: 3, verdicts: [again(0), again(MINUTE), failed, failed] },
    { maxRetries: 5, verdicts: [again(0), again(MINUTE), again(4 * MINUTE), again(9 * MINUTE), failed] },
  ])(
    'with max_retries $maxRetries: the first is forgiven, the last fails the job',
    ({ maxRetries, verdicts }) => {
      expect(verdicts.map((_, i) => crashVerdict(i + 1, maxRetries))).toEqual(verdicts)
    },
  )
})

describe('crashVerdict of a job that is being undone', () => {
  it.each([
    [0, 2],
    [3, 2],
    [5, 4],
  ])('with max_retries %s: forgives %s crashes', (maxRetries, forgiven) => {
    const actions = [1, 2, 3, 4, 5].map((crashes) => crashVerdict(crashes, maxRetries, true).action)
    expect(actions).toEqual(actions.map((_, n) => (n < forgiven ? 'retry' : 'fail')))
  })
})

describe('retry options', () => {
  it('may set how often, when, both or neither', () => {
    expect(toRetrySettings(undefined)).toEqual({ maxRetries: undefined, retry: undefined })
    expect(toRetrySettings(false)).toEqual({ maxRetries: 0, retry: undefined })
    expect(toRetrySettings({ max: 5 })).toEqual({ maxRetries: 5, retry: undefined })
    expect(toRetrySettings({ maxDelay: 9 })).toEqual({
      maxRetries: undefined,
      retry: { strategy: 'quadratic', maxDelay: 9 },
    })
    expect(toRetrySettings({ max: 5, strategy: 'fixed' })).toEqual({
      maxRetries: 5,
      retry: { strategy: 'fixed' },
    })
  })

  it.each([
    { max: -1 },
    { max: 1.5 },
    { max: 1_001 },
    { minDelay: 2, maxDelay: 1 },
    { tries: 3 },
    { strategy: 'x' },
  ])('may not be %j', (options) => {
    expect(retryOptionsSchema.safeParse(options).success).toBe(false)
  })
})

describe('isRetriedKind', () => {
  class NetworkError extends Error {}
  class SlowNetworkError extends NetworkError {}

  it('retries every error without a list', () => {
    expect(isRetriedKind('thrown text', [])).toBe(true)
  })

  it('retries instances of the classes and of their subclasses', () => {
    expect(isRetriedKind(new NetworkError(), [TypeError, NetworkError])).toBe(true)
    expect(isRetriedKind(new SlowNetworkError(), [NetworkError])).toBe(true)
    expect(isRetriedKind(new Error('other'), [NetworkError])).toBe(false)
    expect(isRetriedKind('thrown text', [NetworkError])).toBe(false)
  })

  it('retries errors from another process by name', () => {
    expect(isRetriedKind(Object.assign(new Error(), { name: 'NetworkError' }), [NetworkError])).toBe(true)
  })
})
