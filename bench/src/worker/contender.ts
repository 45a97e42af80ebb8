/** What a worker process is asked, and what it answers. One question at a time. */
export type Question =
  /** Count from now on, and say when so many handlers have run. */
  | { readonly expect: number; readonly profile?: boolean }
  /** There are jobs now: for those whom no database wakes. */
  | { readonly go: true }
  /** What it cost since `expect`. */
  | { readonly report: true }
  | { readonly stop: true }

export type Answer =
  | { readonly ready: true }
  | { readonly expecting: true }
  | { readonly ranAll: true }
  | { readonly report: Usage }
  | { readonly failed: string }

export interface Usage {
  /** Of the whole process, with all of its threads. */
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

/** Starts it; `ran` is what each handler does, and all it does. */
export type Start = (url: string, ran: () => void) => Promise<Running>

/** What graphile-worker's documentation measures its own speed with. */
export const CONCURRENCY = 24
/** The topic, or the task. */
export const TOPIC = 'noop'
/** 100 bytes of JSON. */
export const PAYLOAD = { userId: 'x'.repeat(87) }
