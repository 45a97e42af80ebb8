/** A shape of jobs that people have, beside the no-op. */
export interface Shape {
  readonly title: string
  /** The share of --jobs that it runs: a slow shape needs fewer for the same precision. */
  readonly share: number
  /** How often each job's handler runs. */
  readonly runs: number
}

export const SHAPES = {
  'no-op': { title: 'no-op', share: 1, runs: 1 },
  '10ms': { title: 'handler of 10 ms', share: 0.1, runs: 1 },
  result: { title: 'with a result', share: 1, runs: 1 },
  meta: { title: 'with meta', share: 1, runs: 1 },
  keys: { title: 'with a unique key each', share: 1, runs: 1 },
  retries: { title: 'each failing once', share: 0.5, runs: 2 },
  queues: { title: '20 queues, 5 priorities', share: 1, runs: 1 },
} as const satisfies Record<string, Shape>

export type ShapeName = keyof typeof SHAPES
export const SHAPE_NAMES = Object.keys(SHAPES) as ShapeName[]

/**
 * Every contender runs at most this many at once in a process, where handlers take time. What graphile-worker's
 * documentation measures its own speed with.
 */
export const CONCURRENCY = 24
/** Jobs of one call of a bulk enqueue. */
export const BATCH = 1_000
export const QUEUES = 20
const PRIORITIES = 5

/** About 100 bytes of JSON. `n` says which job it is, so that each is seen to run. */
export interface Payload {
  readonly n: number
  readonly userId: string
}

const PADDING = 'x'.repeat(80)

export const payloadOf = (n: number): Payload => ({ n, userId: PADDING })
export const keyOf = (n: number) => `key-${n}`
export const queueOf = (n: number) => `queue-${n % QUEUES}`
/** 1 to 5. Which end comes first differs between contenders; the work is the same. */
export const priorityOf = (n: number) => 1 + (Math.floor(n / QUEUES) % PRIORITIES)
export const queueNames = Array.from({ length: QUEUES }, (_, n) => queueOf(n))

/** For contenders whose bulk enqueue is for one queue. */
export function byQueue(shape: ShapeName, numbers: readonly number[], queue: string): Map<string, number[]> {
  if (shape !== 'queues') return new Map([[queue, [...numbers]]])
  const groups = new Map<string, number[]>(queueNames.map((name) => [name, []]))
  for (const n of numbers) groups.get(queueOf(n))?.push(n)
  return groups
}

export const processesText = (n: number) => (n === 1 ? '1 process' : `${n} processes`)

export function jobsOf(shape: ShapeName, jobs: number): number {
  return Math.max(1, Math.round(jobs * SHAPES[shape].share))
}
