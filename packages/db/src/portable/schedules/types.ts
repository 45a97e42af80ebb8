import type { EnqueueOptions, JobId } from '@oncue/core'
import type { ShownSchedule } from '@oncue/core/wire'
import type { Subscription } from '../../store.ts'

export type ScheduleRow = Omit<ShownSchedule, 'options' | 'nextRuns'> & { readonly options: EnqueueOptions }

export type Schedule = Omit<ScheduleRow, 'service' | 'nextAt' | 'lastAt' | 'paused'> & {
  readonly service?: ScheduleRow['service'] | undefined
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
