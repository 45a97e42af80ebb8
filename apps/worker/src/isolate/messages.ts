import type { ErrorCode, JobLog, SettledChild, StepOptions } from '@oncue/core'
import type { ClaimedJob, CommitSettings } from '@oncue/db'
import type { AskRequest, GivenAnswer, RefusedAnswer } from '../run/ask.ts'
import type { ChildRef } from '../run/durable/spawn-calls.ts'
import type { WaitedForPage } from '../run/waited-for.ts'
import type { PackedError } from './packed-error.ts'

/** What the statements of its commits need to know of the worker. */
export type CommitsOf = CommitSettings & { readonly worker: string | undefined }

/** `seq` numbers the runs of a child, so that a late message of one run is not taken for the next one's. */
export type ToChild =
  | { readonly kind: 'start'; readonly seq: number; readonly job: ClaimedJob; readonly commits: CommitsOf }
  | { readonly kind: 'abort'; readonly seq: number; readonly code: ErrorCode; readonly message: string }
  /** The run is suspended: release what it holds, and end. */
  | { readonly kind: 'release'; readonly seq: number }
  /** Run an undo that the handler has registered. */
  | { readonly kind: 'undo'; readonly undo: number; readonly name: string }
  | { readonly kind: 'abort-undo'; readonly undo: number; readonly error: PackedError }
  | { readonly kind: 'stop' }
  | { readonly kind: 'result'; readonly call: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly call: number; readonly error: PackedError }

export type FromChild =
  | { readonly kind: 'returned'; readonly seq: number /** JSON text */; readonly result: string | undefined }
  | { readonly kind: 'threw'; readonly seq: number; readonly error: PackedError }
  /** The last message of a child that dies of an uncaught error. */
  | { readonly kind: 'uncaught'; readonly error: PackedError }
  | { readonly kind: 'undone'; readonly undo: number; readonly error?: PackedError | undefined }
  /** The row is no longer needed. */
  | { readonly kind: 'unmark'; readonly mark: string }
  | ({ readonly kind: 'tell'; readonly seq: number } & Told)
  | ({ readonly kind: 'call'; readonly seq: number; readonly call: number } & Called)

/** Messages without a response. */
export type Told =
  | { readonly method: 'log'; readonly args: readonly [level: keyof JobLog, message: string, fields: object] }
  | { readonly method: 'progress'; readonly args: readonly [value: unknown] }
  | { readonly method: 'unstored'; readonly args: readonly [name: string, error: PackedError] }
  /** The run holds something that is to be released when it is suspended. */
  | { readonly method: 'hold'; readonly args: readonly [] }

/** The methods of the context that return something, and what its steps need. */
export interface Calls {
  checkpoint(cursor: unknown): Promise<void>
  emit(type: string, data: unknown): Promise<void>
  /** An event of one of Oncue's own types. */
  tell(type: string, data: object): Promise<void>
  /** A job, as a child or not, by the key of the call. */
  make(key: string, topic: string, payload: unknown, options: object): Promise<string>
  settled(children: readonly ChildRef[]): Promise<SettledChild[]>
  waitedForPage(after: number): Promise<WaitedForPage>
  beginStep(name: string): Promise<{ readonly result: unknown } | { readonly attempts: number }>
  /** JSON text. */
  finishStep(name: string, result: string | undefined, isTold: boolean): Promise<unknown>
  failStep(name: string, error: PackedError): Promise<void>
  /** `error`: why this attempt failed. */
  pauseStep(
    name: string,
    attempt: number,
    delayMs: number,
    error: PackedError,
    isTold: boolean,
  ): Promise<void>
  beginCommit(name: string): Promise<string>
  endCommit(name: string, isSent: boolean): Promise<{ readonly result: unknown } | null>
  pauseCommit(ms: number): Promise<void>
  /** The next statement of the handler ends its job. */
  beginComplete(): Promise<void>
  /** Writes a row, until `unmark`, and returns its name. */
  mark(): Promise<string>
  sleep(name: string, until: number | string | Date): Promise<void>
  since(change: string): Promise<boolean>
  receive(name: string, options: object | undefined): Promise<unknown>
  /** Registers an undo, whose work stays in the child process. */
  undo(name: string, options: StepOptions): Promise<void>
  ask(name: string, request: AskRequest, refused: RefusedAnswer | undefined): Promise<GivenAnswer>
}

export type Called = {
  [Method in keyof Calls]: { readonly method: Method; readonly args: Parameters<Calls[Method]> }
}[keyof Calls]
