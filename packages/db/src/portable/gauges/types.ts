import type { Gauge } from '@oncue/core/wire'

export type { Gauge }

/** One look at everything. */
export type Look = {
  readonly minute: Date
  readonly whole: Gauge
  /** Those in which something waited or ran; the others were empty. */
  readonly queues: ReadonlyMap<string, Gauge>
}

export type LookRange = {
  readonly from: Date
  readonly to: Date
  /** Of the queues only this one; null: none, only the whole; all when absent. */
  readonly queue?: string | null | undefined
}

/** How full everything was, minute by minute. Kept for eight days: a week, and the same day of the week before. */
export interface GaugeStore {
  /** Writes a look down, unless its minute has one. Those that are too old go. */
  record(look: Look): Promise<void>
  /** From the first moment on, up to and without the last. Minutes in which nobody looked are left out. */
  list(range: LookRange): Promise<Look[]>
}
