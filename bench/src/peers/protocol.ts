import type { ShapeName } from './shapes.ts'

/** What a process of a contender is for. */
export interface Task {
  readonly role: 'producer' | 'worker'
  readonly contender: string
  readonly url: string
  readonly shape: ShapeName
  readonly processes: number
  readonly jobs: number
}

export type Question =
  /** Of a producer: enqueue the jobs from this number to before that one. */
  | { readonly enqueue: { readonly from: number; readonly to: number } }
  | { readonly isDrained: true }
  /** Of a worker. */
  | { readonly start: true }
  | { readonly report: true }
  | { readonly stop: true }

export type Answer =
  | { readonly ready: true }
  | { readonly enqueued: { readonly ms: number; readonly cpuMs: number } }
  | { readonly drained: boolean }
  | { readonly started: true }
  /** Sent every few milliseconds while jobs run. */
  | { readonly handled: number }
  | { readonly report: WorkerReport }
  | { readonly failed: string }

/** Milliseconds of a clock that all processes of the machine share. */
export const machineMs = () => Number(process.hrtime.bigint()) / 1e6

export interface WorkerReport {
  /** When its first handler began, by `machineMs`; null if none did. */
  readonly firstAt: number | null
  /** CPU of the process since then: loading the code does not count. */
  readonly cpuMs: number
  /** How often each job's handler ran, by the number of the job. */
  readonly runs: Uint8Array
}
