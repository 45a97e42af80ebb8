import type { Alert, AlertRule, Health, ListAlertsRequest, Page } from '@oncue/core/wire'

export type AlertRuleRow = Omit<AlertRule, 'forSeconds'> & {
  /** For how long it must hold before it fires. */
  readonly forMs: number
}

export type NewAlertRule = Pick<AlertRuleRow, 'name' | 'kind' | 'queue' | 'threshold' | 'forMs' | 'enabled'>

export type AlertRuleChange = {
  readonly [Field in 'name' | 'threshold' | 'forMs' | 'enabled']?: AlertRuleRow[Field] | undefined
}

/** When to alert whom it may concern. ALERT_RULE_NOT_FOUND for an id that nobody has. */
export interface AlertRuleStore {
  /** Makes the rules that every installation begins with, once, by whichever process is first. */
  addDefaults(): Promise<void>
  /** Those from the start first. */
  list(): Promise<AlertRuleRow[]>
  create(rule: NewAlertRule, by?: string): Promise<AlertRuleRow>
  update(id: string, change: AlertRuleChange, by?: string): Promise<AlertRuleRow>
  /** One from the start is disabled instead, or the next start would bring it back. */
  delete(id: string, by?: string): Promise<void>
}

/** What an evaluation knows of an episode: from when a condition began to hold until it was resolved. */
export type AlertEpisode = Readonly<
  Pick<Alert, 'ruleId' | 'kind' | 'queue' | 'value' | 'threshold' | 'summary' | 'resolvedAt'>
> & {
  /** `pending`: it has not held for long enough, and is shown to no one. */
  readonly status: 'pending' | 'firing' | 'resolved'
  /** The queues for which it held, as people saw it when they acked it, or as it is now. */
  readonly heldFor: readonly string[]
  readonly since: Date
  readonly firedAt: Date | null
  /** Since when the condition is clearly false. */
  readonly calmSince: Date | null
  /** How often there was something to tell: it fired, fired again, was resolved. */
  readonly transitions: number
}

/** It has one mark at a time, `acked` or `snoozed`: the last one counts. */
export type AlertRow = AlertEpisode &
  Readonly<Pick<Alert, 'id' | 'acked' | 'snoozed' | 'updated'>> & {
    /** How many of its transitions were handed over. */
    readonly notified: number
    readonly lookedAt: Date
  }

export type AlertChange = {
  /** Null: it begins. */
  readonly before: AlertRow | null
  /** Null: it never came to anything, and is forgotten. */
  readonly after: AlertEpisode | null
  /** Takes the ack of `before` away. */
  readonly endsAck?: boolean | undefined
  /** Takes the snooze of `before` away. */
  readonly endsSnooze?: boolean | undefined
}

export type AlertFilter = Omit<ListAlertsRequest, 'limit' | 'cursor'>

/** Those that fired last first. */
export type AlertPage = Page<AlertRow>

/** What is wrong, and was. People see what has fired; ALERT_NOT_FOUND for anything else. */
export interface AlertStore {
  get(id: string): Promise<AlertRow>
  list(filter?: AlertFilter, page?: Pick<ListAlertsRequest, 'limit' | 'cursor'>): Promise<AlertPage>
  /** How many fire, and of how many of these somebody knows. */
  counts(): Promise<Health['alerts']>

  // --- marks of people, on what fires; INVALID_STATE once it is resolved. A second time changes nothing.

  ack(id: string, by: string): Promise<AlertRow>
  unack(id: string): Promise<AlertRow>
  /** At most a week. A second time takes the new end. */
  snooze(id: string, until: Date, by: string): Promise<AlertRow>
  unsnooze(id: string): Promise<AlertRow>

  // --- for whoever evaluates

  /** All that is not resolved, also what nobody sees yet. */
  episodes(): Promise<AlertRow[]>
  /**
   * Writes what was found at this moment, as one transaction. What somebody else has looked at since it was read
   * stays as they left it; of two who begin the same episode one does.
   */
  record(at: Date, changes: readonly AlertChange[]): Promise<void>
  /** Where something was not handed over yet, the oldest first, up to 100. */
  untold(): Promise<AlertRow[]>
  /** This much of it was handed over. */
  told(id: string, transitions: number): Promise<void>
  /** Whether any job was done since, in this queue or in any but our own. */
  wasBusy(since: Date, queue: string | null): Promise<boolean>
  /** Removes what was resolved before, one batch per call; answers how many. */
  prune(rule: { readonly before: Date; readonly limit?: number | undefined }): Promise<number>
}
