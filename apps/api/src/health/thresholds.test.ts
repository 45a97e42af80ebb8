import { DEFAULT_ALERT_RULES } from '@oncue/core/wire'
import { describe, expect, it } from 'vitest'
import { thresholdsOf } from './thresholds.ts'

const late = (threshold: number, queue: string | null = null, enabled = true) =>
  ({ kind: 'oldest_waiting', threshold, queue, enabled }) as const

describe('thresholds', () => {
  it('are the usual ones without rules', () => {
    expect(thresholdsOf([])).toEqual({
      oldestWaitingSeconds: DEFAULT_ALERT_RULES.oldest_waiting.threshold,
      failureRate: DEFAULT_ALERT_RULES.failure_rate.threshold,
    })
  })

  it('are those of the strictest rule that is enabled', () => {
    const rules = [late(120), late(60), late(1, null, false)]
    expect(thresholdsOf(rules).oldestWaitingSeconds).toBe(60)
    expect(thresholdsOf(rules).failureRate).toBe(DEFAULT_ALERT_RULES.failure_rate.threshold)
    expect(thresholdsOf([late(900)]).oldestWaitingSeconds).toBe(900)
  })

  it('of a queue do not come from the rule of another', () => {
    const rules = [late(120), late(30, 'payments')]
    expect(thresholdsOf(rules, 'payments').oldestWaitingSeconds).toBe(30)
    expect(thresholdsOf(rules, 'mail').oldestWaitingSeconds).toBe(120)
    expect(thresholdsOf(rules).oldestWaitingSeconds).toBe(30)
  })
})
