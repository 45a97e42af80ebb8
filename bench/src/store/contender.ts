import type { NewJob } from '@oncue/core'

/** A claimed job, as far as a settle has to know it. */
export interface Run {
  readonly id: string
  readonly run: number
}

/** Two of these take turns on the same database: Oncue's store, and the same work written by hand. */
export interface Contender {
  readonly name: 'oncue' | 'bare'
  enqueue(jobs: readonly NewJob[]): Promise<unknown>
  claim(limit: number): Promise<readonly Run[]>
  /** Completes them. */
  settle(runs: readonly Run[]): Promise<unknown>
  settleAndClaim(runs: readonly Run[], limit: number): Promise<readonly Run[]>
  close(): Promise<void>
}

export const QUEUE = 'default'
export const LEASE_MS = 300_000
export const WORKER = '01900000-0000-7000-8000-00000000000a'
