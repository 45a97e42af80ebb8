import type { AlertKind } from '@oncue/core/wire'

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

/** What is wrong, and was. People see what has fired; ALERT_NOT_FOUND for anything else. */
export interface AlertStore {
  get(id: string): Promise<AlertRow>
  list(
    filter?: AlertFilter,
    page?: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  ): Promise<AlertPage>
  /** How many fire, and of how many of these somebody knows. */
  counts(): Promise<{ readonly firing: number; readonly acked: number; readonly snoozed: number }>

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
