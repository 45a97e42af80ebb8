import type { NewJob } from '@oncue/core'

/** The fields of a claimed job that a settle needs. */
export interface Run {
  readonly id: string
  readonly run: number
  readonly payload?: unknown
}

/** Two of these alternate on the same database: Oncue's store, and the same work written by hand. */
export interface Contender {
  readonly name: 'oncue' | 'bare'
  enqueue(jobs: readonly NewJob[]): Promise<unknown>
  claim(limit: number): Promise<readonly Run[]>
  /** Completes them. */
  settle(runs: readonly Run[]): Promise<unknown>
  settleAndClaim(runs: readonly Run[], limit: number): Promise<readonly Run[]>
  close(): Promise<void>
}

/** What the bare loop stores of a job. */
type BareJob = Pick<NewJob, 'id' | 'payload' | 'queue' | 'topic' | 'priority' | 'maxRetries' | 'timeoutMs'>

export interface BareContender extends Contender {
  enqueue(jobs: readonly BareJob[]): Promise<unknown>
}

export const QUEUE = 'default'
export const LEASE_MS = 300_000
export const WORKER = '01900000-0000-7000-8000-00000000000a'
