import type { ErrorCode, JobLog } from '@oncue/core'
import type { ClaimedJob, JobEvent, NewEvent } from '@oncue/db'
import type { PackedError } from './packed-error.ts'

/** `seq` numbers the runs of a child, so that a late message of one run is not taken for the next one's. */
export type ToChild =
  | { readonly kind: 'start'; readonly seq: number; readonly job: ClaimedJob }
  | { readonly kind: 'abort'; readonly seq: number; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'stop' }
  | { readonly kind: 'result'; readonly call: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly call: number; readonly error: PackedError }

export type FromChild =
  | { readonly kind: 'returned'; readonly seq: number /** JSON text */; readonly result: string | undefined }
  | { readonly kind: 'threw'; readonly seq: number; readonly error: PackedError }
  /** The last message of a child that dies of an uncaught error. */
  | { readonly kind: 'uncaught'; readonly error: PackedError }
  | ({ readonly kind: 'tell'; readonly seq: number } & Told)
  | ({ readonly kind: 'call'; readonly seq: number; readonly call: number } & Called)

/** Messages without a response. */
export type Told =
  | { readonly method: 'log'; readonly args: readonly [level: keyof JobLog, message: string, fields: object] }
  | { readonly method: 'progress'; readonly args: readonly [value: unknown] }
  | { readonly method: 'unstored'; readonly args: readonly [error: PackedError] }

/** The methods of the context that return something, and what its steps need. */
export interface Calls {
  checkpoint(cursor: unknown): Promise<void>
  emit(type: string, data: unknown): Promise<void>
  spawn(topic: string, payload: unknown, options: object | undefined): Promise<string>
  enqueue(topic: string, payload: unknown, options: object | undefined): Promise<string>
  keep(event: NewEvent): Promise<void>
  events(afterVersion: number): Promise<JobEvent[]>
}

export type Called = {
  [Method in keyof Calls]: { readonly method: Method; readonly args: Parameters<Calls[Method]> }
}[keyof Calls]
