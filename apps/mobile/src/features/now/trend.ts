export type Trend = 'rising' | 'steady' | 'falling'

/** The last minutes against those before; the one that runs has only just begun. */
const RECENT = 5
/** What differs less is noise. */
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
