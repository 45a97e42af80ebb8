import { type AlertKind, DEFAULT_ALERT_RULES } from '@oncue/core/wire'
import type { AlertRuleRow } from '@oncue/db'

type Rule = Pick<AlertRuleRow, 'kind' | 'queue' | 'threshold' | 'enabled'>

/** From which on a queue counts as late, or as failing. */
export interface Thresholds {
  readonly oldestWaitingSeconds: number
  readonly failureRate: number
}

/** The strictest of the enabled rules that are about this queue, or about any; the usual one where there is none. */
export function thresholdsOf(rules: readonly Rule[], queue?: string): Thresholds {
  const strictest = (kind: AlertKind) => {
    const about = rules.filter(
      (rule) =>
        rule.kind === kind &&
        rule.enabled &&
        (queue === undefined || rule.queue === null || rule.queue === queue),
    )
    return about.length > 0
      ? Math.min(...about.map(({ threshold }) => threshold))
      : DEFAULT_ALERT_RULES[kind].threshold
  }
  return { oldestWaitingSeconds: strictest('oldest_waiting'), failureRate: strictest('failure_rate') }
}
