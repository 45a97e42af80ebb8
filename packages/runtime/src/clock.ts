import { randomBytes, randomUUID } from 'node:crypto'
import { Worker } from 'node:worker_threads'

/**
 * The seam for time and random numbers. Code that waits, measures or draws a random number gets one of these passed
 * in, so that it also runs on a simulated clock. Secrets (tokens, pairing codes) come from `node:crypto` instead:
 * they must not be predictable.
 */
export interface Runtime {
  /** Wall clock: milliseconds since 1970. May jump. */
  now(): number
  /** Milliseconds since some moment. Never goes back: for durations and deadlines. */
  monotonic(): number
  /** Resolves after `ms`, or when the signal is aborted; never rejects. 0: after one turn of the event loop. */
  sleep(ms: number, options?: SleepOptions): Promise<void>
  /** Calls `work` once, after `ms`, at most 24.8 days. 0: in the next turn of the event loop. */
  after(ms: number, work: () => void): Timer
  /** Calls `work` every `ms`, until it is cancelled. */
  every(ms: number, work: () => void): Timer
  cancel(timer: Timer | undefined): void
  /** From 0 to 1, without 1. */
  random(): number
  /** A random UUID (version 4). */
  uuid(): string
  /** Random bytes, good enough for ids that never collide. */
  bytes(count: number): Uint8Array
  /** Starts a file, or the text of a CommonJS script, in a thread of its own. */
  thread<Message>(code: URL | string, options: ThreadOptions): Thread<Message>
}

/** A timer keeps the process alive unless `unref` was called. */
export interface Timer {
  ref(): unknown
  unref(): unknown
}

export type SleepOptions = {
  readonly signal?: AbortSignal | undefined
  /** Does not keep the process alive. */
  readonly unref?: boolean | undefined
}

export type ThreadOptions = { readonly name: string; readonly data: unknown }

/** The parts of Node's `Worker` that are used. */
export interface Thread<Message = unknown> {
  on(event: 'message', listener: (message: Message) => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
  on(event: 'exit', listener: (code: number) => void): unknown
  postMessage(message: unknown): void
  terminate(): Promise<unknown>
  unref(): void
}

/** Longer waits would overflow: Node ends them after 1 ms. */
const LONGEST_MS = 2 ** 31 - 1

/** The real clock and real random numbers. The default everywhere, so that users pass nothing. */
export const systemRuntime: Runtime = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, options) => sleepBy(systemRuntime, ms, options),
  after: (ms, work) => (ms > 0 ? setTimeout(work, Math.min(ms, LONGEST_MS)) : setImmediate(work)),
  every: (ms, work) => setInterval(work, ms),
  cancel(timer) {
    // Each of the two calls ignores timers of the other kind.
    clearTimeout(timer as NodeJS.Timeout | undefined)
    clearImmediate(timer as NodeJS.Immediate | undefined)
  },
  random: () => Math.random(),
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
  thread: (code, { name, data }) =>
    new Worker(code, { name, workerData: data, execArgv: [], eval: typeof code === 'string' }),
}

/** Sleeps on any runtime: a timer that a signal can end early. */
export function sleepBy(
  runtime: Pick<Runtime, 'after' | 'cancel'>,
  ms: number,
  { signal, unref }: SleepOptions = {},
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = () => {
      runtime.cancel(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = runtime.after(ms, end)
    if (unref) timer.unref()
    signal?.addEventListener('abort', end, { once: true })
  })
}
