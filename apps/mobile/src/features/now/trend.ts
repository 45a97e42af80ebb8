export type Trend = 'rising' | 'steady' | 'falling'

/** The last minutes are compared with those before, without the current one, which is incomplete. */
const RECENT = 5
/** A smaller difference is noise. */
const NOTABLE = 0.2

export function trendOf(spark: readonly number[]): Trend {
  const whole = spark.slice(0, -1)
  const recent = mean(whole.slice(-RECENT))
  const before = mean(whole.slice(0, -RECENT))
  const change = recent - before
  if (Math.abs(change) <= NOTABLE * Math.max(recent, before)) return 'steady'
  return change > 0 ? 'rising' : 'falling'
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}
