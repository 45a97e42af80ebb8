import type { AlertKind } from '@oncue/core'

export type NewAlertRule = {
  readonly name: string
  readonly kind: AlertKind
  /** Null: every queue, of which the alert names the worst. */
  readonly queue: string | null
  /** In the unit of its kind. */
  readonly threshold: number
  /** For how long it must hold before it fires. */
  readonly forMs: number
  readonly enabled: boolean
}

export type AlertRuleRow = NewAlertRule & {
  readonly id: string
  /** Its name, if it was there from the start. */
  readonly builtIn: string | null
  readonly created: Date
  readonly updated: Date
  readonly updatedBy: string | null
}

export type AlertRuleChange = {
  readonly name?: string | undefined
  readonly threshold?: number | undefined
  readonly forMs?: number | undefined
  readonly enabled?: boolean | undefined
}

/** When to alert. ALERT_RULE_NOT_FOUND for an id that does not exist. */
export interface AlertRuleControl {
  /** Creates the rules that every installation begins with. Those that exist stay as they are. */
  addDefaults(): Promise<void>
  /** The built-in ones first. */
  list(): Promise<AlertRuleRow[]>
  create(rule: NewAlertRule, by?: string): Promise<AlertRuleRow>
  update(id: string, change: AlertRuleChange, by?: string): Promise<AlertRuleRow>
  /** A built-in rule is disabled instead: the next start would create it again. */
  delete(id: string, by?: string): Promise<void>
}

/** What an evaluation knows of an episode: from when a condition began to hold until it was resolved. */
export type AlertEpisode = {
  readonly ruleId: string
  readonly kind: AlertKind
  /** Null: it is about the whole. */
  readonly queue: string | null
  /** `pending`: it does not hold for long enough, and nobody sees it. */
  readonly status: 'pending' | 'firing' | 'resolved'
  readonly value: number
  readonly threshold: number
  readonly summary: string
  /** The queues for which it held, as people saw it when they acked it, or as it is now. */
  readonly heldFor: readonly string[]
  readonly since: Date
  readonly firedAt: Date | null
  /** Since when the condition is clearly false. */
  readonly calmSince: Date | null
  readonly resolvedAt: Date | null
  /** How often there was something to tell: it fired, fired again, was resolved. */
  readonly transitions: number
}

export type AlertRow = AlertEpisode & {
  readonly id: string
  /** One mark at a time: the last one counts. */
  readonly acked: { readonly at: Date; readonly by: string } | null
  readonly snoozed: { readonly until: Date; readonly by: string } | null
  /** How much of what there was to tell was handed over. */
  readonly notified: number
  readonly lookedAt: Date
  readonly updated: Date
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

export type AlertFilter = {
  readonly state?: 'open' | 'resolved' | undefined
  readonly queue?: string | undefined
}

export type AlertPage = {
  /** Those that fired last first. */
  readonly items: AlertRow[]
  /** Null: this is the last page. */
  readonly nextCursor: string | null
}

/** Alerts that have fired; ALERT_NOT_FOUND for any other. */
export interface AlertControl {
  get(id: string): Promise<AlertRow>
  list(
    filter?: AlertFilter,
    page?: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  ): Promise<AlertPage>
  /** How many fire, are acknowledged, are snoozed. */
  counts(): Promise<{ readonly firing: number; readonly acked: number; readonly snoozed: number }>

  // --- marks of people, on what fires; INVALID_STATE once it is resolved. A second time changes nothing.

  ack(id: string, by: string): Promise<AlertRow>
  unack(id: string): Promise<AlertRow>
  /** At most a week. A second time takes the new end. */
  snooze(id: string, until: Date, by: string): Promise<AlertRow>
  unsnooze(id: string): Promise<AlertRow>

  // --- for the evaluator

  /** All that are not resolved, also those that have not fired yet. */
  episodes(): Promise<AlertRow[]>
  /** Those with transitions that were not handed over, the oldest first, up to 100. */
  untold(): Promise<AlertRow[]>
  /** So many of its transitions were handed over. */
  told(id: string, transitions: number): Promise<void>
  /** Removes what was resolved before, one batch per call; returns how many. */
  prune(rule: { readonly before: Date; readonly limit?: number | undefined }): Promise<number>
}

/** The evaluator's transitions, which are one transaction, and a read of the statistics. */
export interface AlertStore {
  /**
   * Writes the result of an evaluation, as one transaction. An alert that another process has evaluated since it was
   * read stays as it is; of two processes that begin the same episode one does.
   */
  record(at: Date, changes: readonly AlertChange[]): Promise<void>
  /** Whether any job was done since, in this queue, or in any but Oncue's own. */
  wasBusy(since: Date, queue: string | null): Promise<boolean>
}
