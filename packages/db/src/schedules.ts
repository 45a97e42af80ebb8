import type { EnqueueOptions, JobId } from '@oncue/core'
import type { Subscription } from './store.ts'

export type Schedule = {
  readonly name: string
  /** Five fields, or six with seconds. */
  readonly cron: string
  /** IANA. */
  readonly timezone: string
  readonly topic: string
  readonly payload: unknown
  readonly options: EnqueueOptions
  /** What to do with ticks that nobody saw: none of them, the last one, all of them (up to 100). */
  readonly missed: 'skip' | 'one' | 'all'
  readonly source: 'code' | 'database'
  /** Of one in code: whose code. Another service leaves it alone. */
  readonly service?: string | null | undefined
}

export type ScheduleRow = Schedule & {
  readonly service: string | null
  /** Null: never again, or paused. */
  readonly nextAt: Date | null
  readonly lastAt: Date | null
  readonly paused: { readonly at: Date; readonly by: string | null } | null
}

/** Cron. One job per tick, however many processes tick. */
export interface ScheduleStore {
  /**
   * Creates or changes one; the next tick is computed anew if pattern or zone changed. One in code changes none that
   * another service declared, unless no worker of that service lives: the row that is answered tells.
   */
  save(schedule: Schedule): Promise<ScheduleRow>
  list(): Promise<ScheduleRow[]>
  remove(name: string): Promise<void>
  /** Removes one that this service declared in code, and no other. */
  withdraw(name: string, service: string): Promise<void>
  pause(name: string, by?: string): Promise<void>
  /** Ticks that were missed while it was paused are not made up for. */
  resume(name: string, by?: string): Promise<void>
  /** A job now, beside the plan. */
  runNow(name: string): Promise<JobId>
  /** Enqueues what is due, and says when the next tick is. */
  tick(): Promise<{ readonly enqueued: JobId[]; readonly nextAt: Date | null }>
  /** When the next tick is, by the store's clock. */
  next(): Promise<{ readonly nextAt: Date | null; readonly now: Date }>
  /** Calls back when the next tick may have changed. A hint: it can be missed, and on SQLite every commit gives it. */
  onChange(hear: () => void): Promise<Subscription>
}
