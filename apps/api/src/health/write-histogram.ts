import { DURATION_BUCKETS_MS } from '@oncue/db'

/** Half powers of two are finer than a dashboard needs; every second one is a whole power. */
const STEP = 2

/**
 * A histogram of seconds as Prometheus reads it, from what the store counted: prom-client can only observe one
 * duration after the other. The store keeps no sum, so it is that of the middles of the buckets.
 */
export function writeHistogram(name: string, help: string, counts: readonly number[]): string {
  let count = 0
  let sumMs = 0
  const buckets: string[] = []
  DURATION_BUCKETS_MS.forEach((endMs, n) => {
    const here = counts[n] ?? 0
    count += here
    sumMs += here * ((DURATION_BUCKETS_MS[n - 1] ?? 0) / 2 + endMs / 2)
    // The last one has no end: it is only in +Inf.
    const isLast = n === DURATION_BUCKETS_MS.length - 1
    if (n % STEP === STEP - 1 && !isLast) buckets.push(`${name}_bucket{le="${endMs / 1_000}"} ${count}`)
  })
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} histogram`,
    ...buckets,
    `${name}_bucket{le="+Inf"} ${count}`,
    `${name}_sum ${sumMs / 1_000}`,
    `${name}_count ${count}`,
    '',
  ].join('\n')
}
