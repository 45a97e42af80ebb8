/** Messages to a worker process, and its replies. One at a time. */
export type Question =
  /** Count from now on, and report when that many handlers have run. */
  | { readonly expect: number; readonly profile?: boolean }
  /** Jobs were enqueued: for workers that no database wakes. */
  | { readonly go: true }
  /** The cost since `expect`. */
  | { readonly report: true }
  | { readonly stop: true }

export type Answer =
  | { readonly ready: true }
  | { readonly expecting: true }
  | { readonly ranAll: true }
  | { readonly report: Usage }
  | { readonly failed: string }

export interface Usage {
  /** CPU time of the whole process, with all of its threads. */
  readonly cpuMs: number
  /** After a garbage collection. */
  readonly heapBytes: number
  /** A .cpuprofile, as JSON. */
  readonly profile: string | null
}

/** A worker that runs in a process of its own. */
interface Running {
  /** Jobs were enqueued. A worker that is woken by its database need not be told. */
  go?(): void
  stop(): Promise<void>
}

/** Starts it; each handler only calls `ran`. */
export type Start = (url: string, ran: () => void) => Promise<Running>

/** The topic, or the task. */
export const TOPIC = 'noop'
/** 100 bytes of JSON. */
export const PAYLOAD = { userId: 'x'.repeat(87) }
