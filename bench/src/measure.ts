/** The cost of some jobs: wall-clock time, and CPU time of this process (not of the server). */
export interface Cost {
  readonly jobs: number
  readonly ms: number
  readonly cpuMs: number
}

export const NOTHING: Cost = { jobs: 0, ms: 0, cpuMs: 0 }

export async function measure<T>(work: () => Promise<T>): Promise<{ value: T; ms: number; cpuMs: number }> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  const value = await work()
  const ms = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  return { value, ms, cpuMs: (user + system) / 1_000 }
}

export function plus(a: Cost, b: Cost): Cost {
  return { jobs: a.jobs + b.jobs, ms: a.ms + b.ms, cpuMs: a.cpuMs + b.cpuMs }
}

export const perSecond = ({ jobs, ms }: Cost) => (jobs / ms) * 1_000
export const cpuMicros = ({ jobs, cpuMs }: Cost) => (cpuMs * 1_000) / jobs

export const median = (values: readonly number[]) => quantile(values, 0.5)

/** Interpolated between two values where it falls between them. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const lower = sorted[Math.floor(place)] ?? Number.NaN
  const upper = sorted[Math.ceil(place)] ?? Number.NaN
  return lower + (upper - lower) * (place % 1)
}
