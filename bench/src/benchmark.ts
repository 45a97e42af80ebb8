import type { Recorded } from './recorded.ts'

export interface BenchmarkOptions {
  readonly jobs: number | undefined
  readonly rounds: number | undefined
  readonly database: 'postgres' | 'sqlite' | undefined
  /** For `worker`: whether memory grows, instead of speed. */
  readonly memory?: boolean
  /** For `peers`: several sizes, in place of `jobs`. */
  readonly sizes?: readonly number[] | undefined
  /** For `peers`: how many worker processes. */
  readonly processes?: readonly number[] | undefined
  /** For `peers`: names of contenders, or how they begin. */
  readonly only?: readonly string[] | undefined
  /** For `peers`: names of shapes of jobs, or `all`. */
  readonly shapes?: readonly string[] | undefined
  /** For `worker`: where to write a CPU profile, instead of a comparison. */
  readonly profile?: string | undefined
  /** For `soak`: how long each run takes, and how many jobs are enqueued per second. */
  readonly minutes?: number | undefined
  readonly rate?: number | undefined
}

export interface Report {
  /** Everything that was measured, for --json. */
  readonly data: unknown
  /** The report for people. */
  readonly text: string
  /** An SVG, for --plot. */
  readonly plot?: string
}

export interface Benchmark {
  readonly summary: string
  readonly hasPlot?: true
  /** What --write-docs writes. */
  readonly recorded?: Recorded
  run(options: BenchmarkOptions): Promise<Report>
}
