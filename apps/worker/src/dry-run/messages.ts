import type { ClaimedJob, Outcome } from '@oncue/db'
import type { PackedError } from '../isolate/packed-error.ts'
import type { DryRunEnd, Reads } from './dry-run.ts'

export type ToChild =
  | { readonly kind: 'run'; readonly job: ClaimedJob; readonly outcomes: readonly Outcome[] }
  | { readonly kind: 'value'; readonly read: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly read: number; readonly error: PackedError }

export type FromChild =
  /** Its modules are loaded. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'broken'; readonly error: PackedError }
  | ({ readonly kind: 'read'; readonly read: number } & Read)
  /** `isLast`: of an uncaught error, after which the process ends. */
  | { readonly kind: 'ended'; readonly end: PackedEnd; readonly isLast?: true }

export type Read = {
  [Method in keyof Reads]: { readonly method: Method; readonly args: Parameters<Reads[Method]> }
}[keyof Reads]

/** A `DryRunEnd` without what cannot be sent. */
export type PackedEnd = Pick<DryRunEnd, 'missing' | 'stopsAt'> & {
  readonly how: DryRunEnd['how']
  readonly error?: PackedError | undefined
}
